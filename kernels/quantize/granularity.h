// Quantization: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and MatMulInteger and
// QLinearMatMul, which expand into Int8MatMul (ConvInteger, QLinearConv and Int8Conv are in
// kernels/conv, with int8_operands.h and requantize.h of this family).
//
// This header: the granularity of scales and zero points, which are per tensor, per index of an
// axis, or per block of indices of an axis.
#pragma once

#include <algorithm>

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "kernels/common/integer_parameters.h"

namespace ondine::kernels {

// Reads the attributes axis and block_size. Blocks came with version 21 of QuantizeLinear and
// DequantizeLinear, axes with 13.
class Granularity {
 public:
  // Error(mismatch) when a scale of this shape does not fit x.
  Granularity(const graph::NodeView& node, const Shape& x, const Shape& scale);

  // Calls body(i, n, s, step) for runs of the elements first <= i < last of x: i + j has the scale
  // of index s + j step, j < n. A step is 0 or 1.
  template <class Body>
  void for_runs(std::int64_t first, std::int64_t last, Body&& body) const {
    while (first < last) {
      const std::int64_t k = first % inner_;
      const std::int64_t a = first / inner_ % axis_size_;
      const std::int64_t outer = first / inner_ / axis_size_;
      const std::int64_t scale = outer * outer_stride_ + a / block_ * stride_ + k * inner_stride_;
      std::int64_t n = inner_ - k;
      std::int64_t step = inner_stride_;
      if (inner_ == 1) {  // the axis is the last
        n = std::min(axis_size_ - a, block_ == 1 ? axis_size_ : block_ - a % block_);
        step = block_ == 1 ? stride_ : 0;
      }
      n = std::min(n, last - first);
      body(first, n, scale, step);
      first += n;
    }
  }

  // Scale indices of a matrix: element (i, j) has the scale of index i / rows * row_step + j /
  // columns * column_step. With a step of 0 the index does not depend on i, or on j.
  struct Grid {
    std::int64_t rows, row_step, columns, column_step;
  };
  Grid grid() const {
    if (is_last_) return {1, outer_stride_, block_, stride_};
    return {block_, stride_, 1, inner_stride_};
  }

  // Calls body(i, s) for every element first <= i < last of x, s being the index of its scale.
  template <class Body>
  void for_elements(std::int64_t first, std::int64_t last, Body&& body) const {
    for_runs(first, last,
             [&](std::int64_t i, std::int64_t n, std::int64_t scale, std::int64_t step) {
               for (std::int64_t j = 0; j < n; ++j) body(i + j, scale + j * step);
             });
  }

 private:
  std::int64_t inner_ = 1;
  std::int64_t axis_size_ = 1;
  std::int64_t block_ = 1;
  std::int64_t outer_stride_ = 0;
  std::int64_t stride_ = 0;
  std::int64_t inner_stride_ = 0;
  bool is_last_ = false;  // the axis
};

// Checks inputs 1 (scale) and 2 (zero point, may be omitted) against input 0.
void check_granularity(const graph::InferContext& context);

// A scale or zero point of the node reshaped so that it broadcasts with x.
graph::Val broadcastable(const graph::NodeView& node, graph::Val scale, graph::Val x);

}  // namespace ondine::kernels
