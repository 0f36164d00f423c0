#include <ondine/tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "core/budget.h"
#include "core/deferred.h"
#include "core/element_bytes.h"
#include "core/out_of_memory.h"
#include "core/system/pages.h"

namespace ondine {
namespace {

constexpr std::size_t alignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Allocates an object with room for elements after it, aligned.
template <class T>
struct WithElements {
  using value_type = T;
  explicit WithElements(std::size_t bytes) noexcept : room(bytes) {}
  template <class U>
  WithElements(const WithElements<U>& other) noexcept : room(other.room) {}  // NOLINT: implicit

  T* allocate(std::size_t count) {
    return static_cast<T*>(allocate_aligned(aligned(count * sizeof(T)) + room));
  }
  void deallocate(T* memory, std::size_t) noexcept { free_aligned(memory); }

  template <class U>
  friend bool operator==(const WithElements&, const WithElements<U>&) noexcept {
    return true;
  }

  std::size_t room;
};

// The owner of the elements after it. Many tensors are so small that a block of memory of its own
// would be as large as they are.
class Elements {
 public:
  Elements(std::size_t bytes, bool is_text, std::shared_ptr<MemoryBudget> budget) noexcept
      : bytes_(bytes), is_text_(is_text), budget_(std::move(budget)) {
    if (is_text_) {
      std::uninitialized_value_construct_n(texts(), count());
    } else {
      std::memset(memory(), 0, bytes_);
    }
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements() {
    if (is_text_) std::destroy_n(texts(), count());
    if (budget_) budget_->release(bytes_);
  }

  void* memory() noexcept {
    const auto end = reinterpret_cast<std::uintptr_t>(this + 1);
    return reinterpret_cast<std::byte*>(this + 1) + (aligned(end) - end);
  }

 private:
  std::string* texts() noexcept { return static_cast<std::string*>(memory()); }
  std::size_t count() const noexcept { return bytes_ / sizeof(std::string); }

  std::size_t bytes_;
  bool is_text_;
  std::shared_ptr<MemoryBudget> budget_;
};

std::shared_ptr<void> own(DType dtype, std::size_t bytes, std::shared_ptr<MemoryBudget> budget) {
  if (bytes == 0) return nullptr;
  if (budget) budget->charge(bytes);
  const bool is_text = dtype == DType::string;
  void* pages = nullptr;
  try {
    if (is_text || !maps_pages(bytes)) {
      const auto elements =
          std::allocate_shared<Elements>(WithElements<Elements>(bytes), bytes, is_text, budget);
      return {elements, elements->memory()};
    }
    pages = map_pages(bytes);
  } catch (...) {
    if (budget) budget->release(bytes);
    throw;
  }
  return {pages, [bytes, budget = std::move(budget)](void* memory) {
            unmap_pages(memory, bytes);
            if (budget) budget->release(bytes);
          }};
}

}  // namespace

Tensor::Tensor(DType dtype, const Shape& shape, std::shared_ptr<MemoryBudget> budget)
    : dtype_(dtype), shape_(shape) {
  guard_memory("make a tensor", [&] { owner_ = own(dtype, bytes(), std::move(budget)); });
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

std::size_t Tensor::bytes() const { return element_bytes(size(), dtype_); }

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
