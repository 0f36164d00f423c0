#include "kernels/ops/strided_copy.h"

#include <algorithm>

#include "core/checked.h"

namespace ondine::kernels {
namespace {

using Axis = StridedCopy::Axis;

constexpr std::int64_t piece = 32768;  // elements of one row that are copied in one go
constexpr std::int64_t tile = 32;      // edge of a block that is transposed in the cache

template <class T>
void copy_row(const T* from, T* to, const Axis& axis, std::int64_t n) {
  if (axis.from == 1 && axis.to == 1) {
    std::copy_n(from, n, to);
  } else if (axis.from == 0 && axis.to == 1) {
    std::fill_n(to, n, *from);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

template <class T>
void copy_rows(ThreadPool& pool, std::span<const Axis> axes, const T* from, T* to) {
  const Axis inner = axes.back();
  const auto outer = axes.first(axes.size() - 1);
  const std::int64_t pieces = (inner.extent + piece - 1) / piece;
  if (pieces > 1) {
    return pool.for_chunks(box_size(outer) * pieces, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto item = first; item < last; ++item) {
        const BoxWalk row(outer, item / pieces);
        const std::int64_t start = item % pieces * piece;
        copy_row(from + row.from + start * inner.from, to + row.to + start * inner.to, inner,
                 std::min(piece, inner.extent - start));
      }
    });
  }
  const std::int64_t grain = std::max<std::int64_t>(1, piece / inner.extent);
  pool.for_chunks(box_size(outer), grain, [&](std::int64_t first, std::int64_t last) {
    BoxWalk row(outer, first);
    for (auto i = first; i < last; ++i, row.next()) {
      copy_row(from + row.from, to + row.to, inner, inner.extent);
    }
  });
}

// Axis `across` is contiguous where it is read, the last axis where it is written.
template <class T>
void copy_tiles(ThreadPool& pool, std::span<const Axis> axes, std::size_t across, const T* from,
                T* to) {
  const Axis a = axes[across];
  const Axis b = axes.back();
  std::array<Axis, BoxWalk::max_axes> rest;
  std::size_t rank = 0;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    if (i != across) rest[rank++] = axes[i];
  }
  const std::span<const Axis> outer(rest.data(), rank);
  const std::int64_t strips = (a.extent + tile - 1) / tile;
  const std::int64_t grain = std::max<std::int64_t>(1, piece / (tile * b.extent));
  pool.for_chunks(box_size(outer) * strips, grain, [&](std::int64_t first, std::int64_t last) {
    for (auto item = first; item < last; ++item) {
      const BoxWalk row(outer, item / strips);
      const std::int64_t a0 = item % strips * tile;
      const std::int64_t a1 = std::min(a.extent, a0 + tile);
      for (std::int64_t b0 = 0; b0 < b.extent; b0 += tile) {
        const std::int64_t b1 = std::min(b.extent, b0 + tile);
        for (auto i = a0; i < a1; ++i) {
          const T* source = from + row.from + i;
          T* target = to + row.to + i * a.to;
          for (auto j = b0; j < b1; ++j) target[j] = source[j * b.from];
        }
      }
    }
  });
}

}  // namespace

std::vector<std::int64_t> row_major(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank());
  std::int64_t stride = 1;
  for (std::size_t a = shape.rank(); a-- > 0;) {
    strides[a] = stride;
    stride = checked_mul(stride, std::max<std::int64_t>(1, shape[a]));
  }
  return strides;
}

StridedCopy::StridedCopy(DType dtype, std::span<const Axis> axes, std::int64_t from_offset,
                         std::int64_t to_offset)
    : dtype_(dtype), from_offset_(from_offset), to_offset_(to_offset), empty_(false) {
  for (const Axis& axis : axes) {
    if (axis.extent == 0) empty_ = true;
    if (axis.extent == 1) continue;
    if (!axes_.empty()) {
      Axis& last = axes_.back();
      if (last.from == axis.from * axis.extent && last.to == axis.to * axis.extent) {
        last = {last.extent * axis.extent, axis.from, axis.to};
        continue;
      }
    }
    axes_.push_back(axis);
  }
  if (axes_.size() > BoxWalk::max_axes) {
    fail(ErrorCode::limit, "a copy over ", axes_.size(), " axes");
  }
  if (axes_.empty()) axes_.push_back({1, 1, 1});
}

void StridedCopy::run(ThreadPool& pool, const void* from, void* to) const {
  if (empty_) return;
  visit_size(dtype_, [&]<class T>() {
    const T* source = static_cast<const T*>(from) + from_offset_;
    T* target = static_cast<T*>(to) + to_offset_;
    const Axis inner = axes_.back();
    if (inner.to == 1 && inner.from != 1 && inner.from != 0) {
      for (std::size_t a = 0; a + 1 < axes_.size(); ++a) {
        if (axes_[a].from == 1) return copy_tiles(pool, std::span(axes_), a, source, target);
      }
    }
    copy_rows(pool, std::span(axes_), source, target);
  });
}

void copy_elements(ThreadPool& pool, DType dtype, std::int64_t n, const void* from, void* to) {
  visit_size(dtype, [&]<class T>() {
    pool.for_chunks(n, piece, [&](std::int64_t first, std::int64_t last) {
      std::copy_n(static_cast<const T*>(from) + first, last - first, static_cast<T*>(to) + first);
    });
  });
}

void fill_elements(ThreadPool& pool, DType dtype, std::int64_t n, const void* value, void* to) {
  visit_size(dtype, [&]<class T>() {
    const T element = value == nullptr ? T() : *static_cast<const T*>(value);
    pool.for_chunks(n, piece, [&](std::int64_t first, std::int64_t last) {
      std::fill_n(static_cast<T*>(to) + first, last - first, element);
    });
  });
}

}  // namespace ondine::kernels
