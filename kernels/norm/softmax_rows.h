// Softmax along an axis that need not be the last.
#pragma once

#include <algorithm>

#include "graph/contract/node_view.h"
#include "kernels/elementwise/vector.h"
#include "kernels/norm/softmax_primitive.h"

namespace ondine::kernels {

// x is [outer, length, inner]; sums run over `length`.
struct AxisShape {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
};

// The axes that a Softmax-like node sums over: one, or, before version 13 and with the attribute
// `flatten`, all from `axis` on.
struct SoftmaxAxes {
  std::size_t first = 0;
  std::size_t last = 0;  // one past
};

inline SoftmaxAxes softmax_axes(const graph::NodeView& node, std::size_t rank) {
  const bool flatten = node.version() < 13 || node.attr_int("flatten", 0) != 0;
  const std::int64_t otherwise = node.version() < 13 ? 1 : -1;
  const auto axis = graph::NodeView::normalize_axis(node.attr_int("axis", otherwise), rank);
  return {axis, flatten ? rank : axis + 1};
}

inline AxisShape axis_shape(const Shape& shape, const SoftmaxAxes& axes) {
  return {shape.size(0, axes.first), shape.size(axes.first, axes.last),
          shape.size(axes.last, shape.rank())};
}

// Calls body(offset, n) for blocks of up to 256 columns i: element (o, k, i) lies at
// offset + k * inner, n columns side by side.
template <class Body>
void for_column_blocks(ThreadPool& pool, const AxisShape& s, Body&& body) {
  constexpr std::int64_t block = 256;
  const std::int64_t blocks = (s.inner + block - 1) / block;
  const std::int64_t cost = std::max<std::int64_t>(1, s.length * std::min(s.inner, block));
  const std::int64_t grain = std::max<std::int64_t>(1, math::elementwise_grain / cost);
  if (s.length == 0) return;
  pool.for_chunks(s.outer * blocks, grain, [&](std::int64_t first, std::int64_t last) {
    for (auto at = first; at < last; ++at) {
      const std::int64_t column = at % blocks * block;
      body(at / blocks * s.length * s.inner + column, std::min(block, s.inner - column));
    }
  });
}

// y = softmax x, or its logarithm. y may be x.
template <class C>
void softmax_axis(ThreadPool& pool, const AxisShape& s, const C* x, C* y, bool logarithm) {
  if (s.inner == 1) {
    if (logarithm) return math::log_softmax(pool, y, x, s.outer, s.length);
    return math::softmax(pool, y, x, s.outer, s.length);
  }
  const auto& v = math::vector_kernels<C>();
  for_column_blocks(pool, s, [&](std::int64_t offset, std::int64_t n) {
    C top[256];
    C sum[256];
    C row[256];
    v.copy(top, x + offset, n);
    for (std::int64_t k = 1; k < s.length; ++k) v.max.vv(top, top, x + offset + k * s.inner, n);
    v.fill(sum, 0, n);
    for (std::int64_t k = 0; k < s.length; ++k) {
      C* to = y + offset + k * s.inner;
      v.sub.vv(to, x + offset + k * s.inner, top, n);
      C* power = logarithm ? row : to;
      v.exp(power, to, n);
      v.add.vv(sum, sum, power, n);
    }
    if (logarithm) v.log(sum, sum, n);
    const auto apply = logarithm ? v.sub.vv : v.div.vv;
    for (std::int64_t k = 0; k < s.length; ++k) {
      C* to = y + offset + k * s.inner;
      apply(to, to, sum, n);
    }
  });
}

// dx from dy and y = softmax x, or its logarithm. dx may be dy.
template <class C>
void softmax_axis_gradient(ThreadPool& pool, const AxisShape& s, const C* dy, const C* y, C* dx,
                           bool logarithm) {
  if (s.inner == 1) {
    if (logarithm) return math::log_softmax_gradient(pool, dx, dy, y, s.outer, s.length);
    return math::softmax_gradient(pool, dx, dy, y, s.outer, s.length);
  }
  const auto& v = math::vector_kernels<C>();
  for_column_blocks(pool, s, [&](std::int64_t offset, std::int64_t n) {
    C sum[256];
    C row[256];
    v.fill(sum, 0, n);
    for (std::int64_t k = 0; k < s.length; ++k) {
      const std::int64_t at = offset + k * s.inner;
      if (logarithm) {
        v.add.vv(sum, sum, dy + at, n);
      } else {
        v.multiply_add(sum, dy + at, y + at, n);
      }
    }
    for (std::int64_t k = 0; k < s.length; ++k) {
      const std::int64_t at = offset + k * s.inner;
      if (logarithm) {
        v.exp(row, y + at, n);
        v.mul.vv(row, row, sum, n);
        v.sub.vv(dx + at, dy + at, row, n);
      } else {
        v.sub.vv(row, dy + at, sum, n);
        v.mul.vv(dx + at, row, y + at, n);
      }
    }
  });
}

}  // namespace ondine::kernels
