// Scans along one axis of a tensor, element by element.
#pragma once

#include <algorithm>
#include <array>

#include "core/parallel.h"
#include "core/stop.h"
#include "kernels/common/integer_parameters.h"

namespace ondine::kernels {

// For every line along the axis, from its first element to its last (reverse: the other way):
// acc = initial, then body(acc, at) for each position `at` in the tensor, then done(acc, line),
// where lines are numbered outer * inner + k.
template <class Acc, class Body, class Done>
void scan(ThreadPool& pool, const AxisView& view, bool reverse, const Acc& initial,
          const Body& body, const Done& done) {
  constexpr std::int64_t width = 64;  // lines that run side by side
  const std::int64_t strips = (view.inner + width - 1) / width;
  const std::int64_t work = std::max<std::int64_t>(1, view.dim * std::min(width, view.inner));
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / work);
  pool.for_chunks(view.outer * strips, grain, [&](std::int64_t first, std::int64_t last) {
    std::array<Acc, width> accs;
    for (auto task = first; task < last; ++task) {
      const std::int64_t outer = task / strips;
      const std::int64_t k0 = task % strips * width;
      const std::int64_t n = std::min(width, view.inner - k0);
      std::fill_n(accs.begin(), n, initial);
      for_pieces(view.dim, n, [&](std::int64_t from, std::int64_t to) {
        for (auto i = from; i < to; ++i) {
          const std::int64_t step = reverse ? view.dim - 1 - i : i;
          const std::int64_t at = (outer * view.dim + step) * view.inner + k0;
          for (std::int64_t k = 0; k < n; ++k) body(accs[static_cast<std::size_t>(k)], at + k);
        }
      });
      for (std::int64_t k = 0; k < n; ++k) {
        done(accs[static_cast<std::size_t>(k)], outer * view.inner + k0 + k);
      }
    }
  });
}

template <class Acc, class Body>
void scan(ThreadPool& pool, const AxisView& view, bool reverse, const Acc& initial,
          const Body& body) {
  scan(pool, view, reverse, initial, body, [](const Acc&, std::int64_t) {});
}

// Whether x is preferred to the best so far; NaN is preferred to any number.
template <bool Greatest, class T>
inline bool beats(T x, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (best != best) return false;
    if (x != x) return true;
  }
  return Greatest ? x > best : x < best;
}

}  // namespace ondine::kernels
