// A dense tensor: dtype, shape and row-major elements, owned or wrapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ondine/dtype.h>
#include <ondine/export.h>
#include <ondine/shape.h>

namespace ondine {

class DeferredElements;
class MemoryBudget;

// Copying a Tensor shares its elements (like a shared_ptr); clone() copies them. Concurrent reads
// are safe, writes are the caller's to order.
class ONDINE_API Tensor {
 public:
  // No dtype, no elements; defined() is false.
  Tensor() = default;
  // Zero-filled (empty strings, false). With a budget the bytes are charged before they are
  // allocated and given back when the last copy goes; throws Error(limit) when they do not fit.
  Tensor(DType dtype, const Shape& shape, std::shared_ptr<MemoryBudget> budget = nullptr);
  // Elements stay where they are: `data` holds shape.size() elements of `dtype`, must outlive every
  // copy of the result, and is not freed.
  static Tensor wrap(DType dtype, const Shape& shape, void* data);
  static Tensor wrap(DType dtype, const Shape& shape, const void* data);
  // As wrap, but keeps `owner` alive.
  static Tensor share(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner);
  // As share, of elements that are computed when one of the copies is first asked for its data.
  static Tensor share(DType dtype, const Shape& shape, std::shared_ptr<DeferredElements> elements);

  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor of(const Shape& shape, const std::vector<T>& values) {
    return of<T>(shape, std::span<const T>(values));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, std::span<const T>(&value, 1));
  }

  // False when the elements lie in memory that the tensor does not keep alive.
  bool owns_memory() const noexcept { return owner_ != nullptr || data_ == nullptr; }

  bool defined() const noexcept { return dtype_ != DType::undefined; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size() const { return shape_.size(); }
  // size() * size_of(dtype()).
  std::size_t bytes() const;

  const void* data() const noexcept { return memory(); }
  void* mutable_data() noexcept { return memory(); }

  // The elements. Throws Error(mismatch) when T is not the dtype's C++ type.
  template <class T>
  std::span<const T> values() const& {
    require(dtype_of<T>);
    return {static_cast<const T*>(memory()), static_cast<std::size_t>(size())};
  }
  // The elements of a temporary may go with it: name the tensor first, or read one with item().
  template <class T>
  std::span<const T> values() const&& = delete;
  // A copy of one element, counted in row-major order. Throws Error(mismatch) when T is not the
  // dtype's C++ type or there is no such element.
  template <class T>
  T item(std::size_t index = 0) const {
    return values<T>()[require_index(index)];
  }
  template <class T>
  std::span<T> mutable_values() & {
    require(dtype_of<T>);
    return {static_cast<T*>(memory()), static_cast<std::size_t>(size())};
  }
  // Same elements under another shape of the same size.
  Tensor reshaped(const Shape& shape) const;
  Tensor clone(std::shared_ptr<MemoryBudget> budget = nullptr) const;

  // Same dtype, shape and bits (strings: same text).
  bool identical(const Tensor& other) const;

 private:
  void require(DType wanted) const;
  std::size_t require_index(std::size_t index) const;
  void copy_from(const void* source);
  void* memory() const noexcept {
    if (deferred_) compute();
    return data_;
  }
  void compute() const noexcept;
  friend const DeferredElements* deferred_elements(const Tensor& tensor) noexcept;

  DType dtype_ = DType::undefined;
  bool deferred_ = false;  // the owner is a DeferredElements
  Shape shape_;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor result(dtype_of<T>, shape);
  auto target = result.mutable_values<T>();
  if (target.size() != values.size()) result.require(DType::undefined);
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = values[i];
  return result;
}

}  // namespace ondine
