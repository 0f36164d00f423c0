// The one walker of all element-wise operators: lays up to three operands over the output, cuts the
// work into chunks and calls a typed row function for each run.
#pragma once

#include <memory>
#include <vector>

#include "graph/contract/kernel.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/convert_rows.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {

using graph::Kernel;

// The types that element-wise arithmetic is done in; 16-bit floats are computed as float.
using Computed = Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                       std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

// Attributes as a row function gets them.
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
    Shape shape;                   // as it is laid over the output
    ConvertRow convert = nullptr;  // to the type that `row` reads
  };
  std::vector<Operand> operands;
  Shape out;
  ConvertRow narrow = nullptr;  // from the type that `row` writes to the output's
};

// Elements of one chunk. Fixed, so that no result depends on the number of threads.
inline constexpr std::int64_t elementwise_grain = 16384;

Kernel elementwise(const graph::BindContext& context, const Elementwise& what);

// All inputs of the node with their own shapes. Rows are picked for compute_dtype of input 0; a
// 16-bit or smaller float is converted on the way, and back if the output has the same dtype.
Kernel elementwise(const graph::BindContext& context, RowFunction row, Params params = {});

// float for the formats that arithmetic widens, the dtype itself otherwise.
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
