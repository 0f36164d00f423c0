#include <ondine/tensor.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "core/budget.h"
#include "core/checked.h"
#include "core/deferred.h"
#include "core/out_of_memory.h"
#include "core/pages.h"

namespace ondine {
namespace {

std::shared_ptr<void> own(DType dtype, std::int64_t count, std::size_t bytes,
                          std::shared_ptr<MemoryBudget> budget) {
  if (budget) budget->charge(bytes);
  const bool pages = dtype != DType::string && maps_pages(bytes);
  void* memory = nullptr;
  try {
    memory = pages ? map_pages(bytes) : allocate_aligned(bytes);
  } catch (...) {
    if (budget) budget->release(bytes);
    throw;
  }
  if (dtype == DType::string) {
    std::uninitialized_value_construct_n(static_cast<std::string*>(memory), count);
  } else if (memory != nullptr && !pages) {
    std::memset(memory, 0, bytes);
  }
  return {memory, [dtype, count, bytes, pages, budget = std::move(budget)](void* p) {
            if (dtype == DType::string) std::destroy_n(static_cast<std::string*>(p), count);
            if (pages) {
              unmap_pages(p, bytes);
            } else {
              free_aligned(p);
            }
            if (budget) budget->release(bytes);
          }};
}

}  // namespace

Tensor::Tensor(DType dtype, const Shape& shape, std::shared_ptr<MemoryBudget> budget)
    : dtype_(dtype), shape_(shape) {
  guard_memory("make a tensor", [&] { owner_ = own(dtype, size(), bytes(), std::move(budget)); });
  data_ = owner_.get();
}

Tensor Tensor::wrap(DType dtype, const Shape& shape, void* data) {
  return share(dtype, shape, data, nullptr);
}

Tensor Tensor::wrap(DType dtype, const Shape& shape, const void* data) {
  return share(dtype, shape, const_cast<void*>(data), nullptr);
}

Tensor Tensor::share(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner) {
  Tensor result;
  result.dtype_ = dtype;
  result.shape_ = shape;
  result.data_ = data;
  result.owner_ = std::move(owner);
  return result;
}

Tensor Tensor::share(DType dtype, const Shape& shape, std::shared_ptr<DeferredElements> elements) {
  void* const data = elements->memory();
  Tensor result = share(dtype, shape, data, std::move(elements));
  result.deferred_ = true;
  return result;
}

const DeferredElements* deferred_elements(const Tensor& tensor) noexcept {
  return tensor.deferred_ ? static_cast<const DeferredElements*>(tensor.owner_.get()) : nullptr;
}

void Tensor::compute() const noexcept {
  // A tensor that was moved from has no owner.
  if (owner_) static_cast<DeferredElements*>(owner_.get())->compute();
}

std::size_t Tensor::bytes() const {
  return static_cast<std::size_t>(checked_mul(size(), static_cast<std::int64_t>(size_of(dtype_))));
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.size() != size()) {
    fail(ErrorCode::mismatch, "shape ", shape, " does not hold the elements of ", shape_);
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::clone(std::shared_ptr<MemoryBudget> budget) const {
  if (!defined()) return {};
  return guard_memory("copy a tensor", [&] {
    Tensor result(dtype_, shape_, std::move(budget));
    result.copy_from(data());
    return result;
  });
}

bool Tensor::identical(const Tensor& other) const {
  if (dtype_ != other.dtype_ || !(shape_ == other.shape_)) return false;
  if (dtype_ == DType::string) {
    const auto a = values<std::string>();
    return std::equal(a.begin(), a.end(), other.values<std::string>().begin());
  }
  return bytes() == 0 || std::memcmp(data(), other.data(), bytes()) == 0;
}

void Tensor::require(DType wanted) const {
  if (wanted == DType::undefined) {
    fail(ErrorCode::mismatch, "number of values does not fit shape ", shape_);
  }
  if (wanted != dtype_) fail(ErrorCode::mismatch, "tensor holds ", dtype_, ", not ", wanted);
}

std::size_t Tensor::require_index(std::size_t index) const {
  if (index >= static_cast<std::size_t>(size())) {
    fail(ErrorCode::mismatch, "element ", index, " of a tensor of shape ", shape_);
  }
  return index;
}

void Tensor::copy_from(const void* source) {
  if (dtype_ == DType::string) {
    std::copy_n(static_cast<const std::string*>(source), size(), static_cast<std::string*>(data_));
  } else if (bytes() > 0) {
    std::memcpy(data_, source, bytes());
  }
}

}  // namespace ondine
