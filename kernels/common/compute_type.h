// Kernels are written for float and double; other formats are converted into scratch memory before
// and back after the call.
#pragma once

#include "kernels/common/kernel_scratch.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {

// Calls body.template operator()<C>() with the type that arithmetic on `dtype` is done in: double
// for float64, float for float32, float16 and bfloat16. Error(unsupported) for other dtypes.
template <class Body>
decltype(auto) visit_compute(DType dtype, Body&& body) {
  const bool narrow = dtype == DType::float16 || dtype == DType::bfloat16;
  return visit(narrow ? DType::float32 : dtype, FullFloats{}, std::forward<Body>(body));
}

// Converts n elements; C is float or double, `dtype` a float format, int8 or uint8 (whose values
// must be whole). nullptr when `dtype` is that of C.
template <class C>
using ReadRow = void (*)(C* to, const void* from, std::int64_t n);
template <class C>
using WriteRow = void (*)(void* to, const C* from, std::int64_t n);
template <class C>
ReadRow<C> read_row(DType dtype);
template <class C>
WriteRow<C> write_row(DType dtype);

inline constexpr std::int64_t convert_grain = 16384;

// An input of any float dtype as elements of C. Omitted inputs read as nullptr.
template <class C>
class ComputeIn {
 public:
  ComputeIn(const graph::BindContext& context, Scratch& scratch, std::size_t index)
      : index_(index) {
    if (!context.has_input(index)) return;
    present_ = true;
    row_ = read_row<C>(context.dtype(index));
    if (row_ == nullptr) return;
    count_ = context.shape(index).size();
    size_ = static_cast<std::int64_t>(size_of(context.dtype(index)));
    offset_ = scratch.add<C>(count_);
  }
  explicit operator bool() const noexcept { return present_; }

  const C* operator()(graph::KernelContext& call) const {
    if (!present_) return nullptr;
    if (row_ == nullptr) return call.in<C>(index_);
    C* converted = Scratch::at<C>(call, offset_);
    const auto* from = call.in<std::byte>(index_);
    call.pool().for_chunks(count_, convert_grain, [&](std::int64_t first, std::int64_t last) {
      row_(converted + first, from + first * size_, last - first);
    });
    return converted;
  }

 private:
  std::size_t index_ = 0;
  bool present_ = false;
  ReadRow<C> row_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t size_ = 0;
  std::size_t offset_ = 0;
};

// An output of any float dtype, computed in C: write to data(), then call store().
template <class C>
class ComputeOut {
 public:
  // With `always` there is memory even for an omitted output; `count` elements.
  ComputeOut(const graph::BindContext& context, Scratch& scratch, std::size_t index,
             std::int64_t count, bool always = false)
      : index_(index), count_(count) {
    wanted_ = context.has_output(index);
    if (wanted_) {
      row_ = write_row<C>(context.output_dtype(index));
      size_ = static_cast<std::int64_t>(size_of(context.output_dtype(index)));
    }
    in_scratch_ = row_ != nullptr || (always && !wanted_);
    if (in_scratch_) offset_ = scratch.add<C>(count);
  }
  explicit operator bool() const noexcept { return wanted_ || in_scratch_; }

  C* data(graph::KernelContext& call) const {
    if (in_scratch_) return Scratch::at<C>(call, offset_);
    return wanted_ ? call.out<C>(index_) : nullptr;
  }
  void store(graph::KernelContext& call) const {
    if (row_ == nullptr) return;
    const C* converted = Scratch::at<C>(call, offset_);
    auto* to = call.out<std::byte>(index_);
    call.pool().for_chunks(count_, convert_grain, [&](std::int64_t first, std::int64_t last) {
      row_(to + first * size_, converted + first, last - first);
    });
  }

 private:
  std::size_t index_ = 0;
  std::int64_t count_ = 0;
  bool wanted_ = false;
  bool in_scratch_ = false;
  WriteRow<C> row_ = nullptr;
  std::int64_t size_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace ondine::kernels
