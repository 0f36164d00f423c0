// Element-wise operators: arithmetic, comparisons, logic, bit operations, activations and their
// gradients, Clip, Where, Min, Max, Sum, Mean, Pow, Mod, PRelu, and FusedElementwise, which
// computes a chain of them in one pass. Cast and Dropout use the same kernel.
//
// Every operator is a row function, which computes a contiguous run of elements, and this header's
// kernel, which broadcasts up to three operands, converts 16-bit floats and splits the work into
// chunks.
//   unary.h, binary.h     rows from a function of one or two elements
//   kernels/simd/vector   vectorized rows of float and double, one per instruction set (vector.h)
//   variadic.h            any number of broadcast inputs
//   fused_elementwise.h   the steps of FusedElementwise
#pragma once

#include <memory>
#include <vector>

#include "graph/contract/kernel.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/convert_rows.h"
#include "kernels/common/grain.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {

using graph::Kernel;

// The types that element-wise arithmetic is done in; 16-bit floats are computed as float.
using Computed = Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                       std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

// Attributes that a row function reads.
struct Params {
  float a = 0;
  float b = 0;
};

// n elements of the output; of each operand n elements, or one that is repeated. y may be an
// operand that is not repeated.
struct Row {
  void* y = nullptr;
  std::array<const void*, Broadcast::max_operands> x{};
  std::array<bool, Broadcast::max_operands> repeated{};
  std::int64_t n = 0;
  Params params;

  template <class T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(x[i]);
  }
  template <class T>
  T* out() const {
    return static_cast<T*>(y);
  }
};
using RowFunction = void (*)(const Row&);

struct Elementwise {
  RowFunction row = nullptr;
  Params params;
  struct Operand {
    std::size_t input = 0;         // of the node
    Shape shape;                   // aligned with the output, for broadcasting
    ConvertRow convert = nullptr;  // to the type that `row` reads
  };
  std::vector<Operand> operands;
  Shape out;
  ConvertRow narrow = nullptr;  // from the type that `row` writes to the output's
  ConvertRow copy = nullptr;    // of operand 0, of the shape of the output, to output 1
};

using math::elementwise_grain;

Kernel elementwise(const graph::BindContext& context, const Elementwise& what);

// Kernel over all inputs of the node, each with its own shape. `row` computes in compute_dtype of
// input 0: floats of 16 bits or fewer are converted to it, and back if the output has the same
// dtype. Output 1, if there is one, receives input 0 (RoundedStorage::copy).
Kernel elementwise(const graph::BindContext& context, RowFunction row, Params params = {});

// float for float formats of 16 bits or fewer, the dtype itself otherwise.
DType compute_dtype(DType dtype) noexcept;

// The instance of `Maker` for one of the types, nullptr when there is none:
//   pick<Maker>(dtype, Numbers{}) calls Maker::make<T>().
template <class Maker, class... T>
RowFunction pick_row(DType dtype, Types<T...>) {
  RowFunction row = nullptr;
  ((dtype == dtype_of<T> ? void(row = Maker::template make<T>()) : void()), ...);
  if (row == nullptr) fail(ErrorCode::unsupported, "no kernel for dtype ", dtype);
  return row;
}

}  // namespace ondine::kernels
