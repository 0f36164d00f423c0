#include "kernels/common/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/checked.h"

namespace ondine::kernels {
namespace {

using Axis = StridedCopy::Axis;

constexpr std::int64_t chunk = 32768;  // elements of one row that are copied in one go
// Tiles that are transposed in the cache: their sizes along the axis contiguous in the source (a
// cache line of elements of 2 and 4 bytes) and along that of the destination.
template <class T>
constexpr std::int64_t tile_read = sizeof(T) == 2 ? 32 : 16;
constexpr std::int64_t tile_written = 64;

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
  const std::int64_t chunks = (inner.size + chunk - 1) / chunk;
  if (chunks > 1) {
    return pool.for_chunks(box_size(outer) * chunks, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto item = first; item < last; ++item) {
        const BoxWalk row(outer, item / chunks);
        const std::int64_t start = item % chunks * chunk;
        copy_row(from + row.from + start * inner.from, to + row.to + start * inner.to, inner,
                 std::min(chunk, inner.size - start));
      }
    });
  }
  const std::int64_t grain = std::max<std::int64_t>(1, chunk / inner.size);
  pool.for_chunks(box_size(outer), grain, [&](std::int64_t first, std::int64_t last) {
    BoxWalk row(outer, first);
    for (auto i = first; i < last; ++i, row.next()) {
      copy_row(from + row.from, to + row.to, inner, inner.size);
    }
  });
}

template <class T>
void transpose_scalars(const T* from, std::int64_t from_step, T* to, std::int64_t to_step,
                       std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[i * to_step + j] = from[i + j * from_step];
  }
}

template <class T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(16)));
  static constexpr int count = 16 / sizeof(T);

  // The lanes of a and b in turns, from the first halves of both and from the second ones.
  static Vector first_halves(Vector a, Vector b) {
    if constexpr (count == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
    if constexpr (count == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  static Vector second_halves(Vector a, Vector b) {
    if constexpr (count == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
    if constexpr (count == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
};

// A square of as many rows as a vector has lanes.
template <class T>
void transpose_square(const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  constexpr int n = Lanes<T>::count;
  std::array<typename Lanes<T>::Vector, n> x, y;
#pragma GCC unroll 8
  for (int r = 0; r < n; ++r) std::memcpy(&x[r], from + r * from_step, 16);
#pragma GCC unroll 3
  for (int length = 1; length < n; length *= 2) {
#pragma GCC unroll 4
    for (int r = 0; r < n / 2; ++r) {
      y[2 * r] = Lanes<T>::first_halves(x[r], x[r + n / 2]);
      y[2 * r + 1] = Lanes<T>::second_halves(x[r], x[r + n / 2]);
    }
    x = y;
  }
#pragma GCC unroll 8
  for (int r = 0; r < n; ++r) std::memcpy(to + r * to_step, &x[r], 16);
}

// to[i to_step + j] = from[i + j from_step]: squares of numbers of 2 and 4 bytes in vectors that
// every processor has.
template <class T>
void transpose_tile(const T* from, std::int64_t from_step, T* to, std::int64_t to_step,
                    std::int64_t rows, std::int64_t columns) {
  std::int64_t whole_rows = 0, whole_columns = 0;
  if constexpr (std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint16_t>) {
    constexpr std::int64_t n = Lanes<T>::count;
    whole_rows = rows / n * n;
    whole_columns = columns / n * n;
    for (std::int64_t j = 0; j < whole_columns; j += n) {
      for (std::int64_t i = 0; i < whole_rows; i += n) {
        transpose_square(from + i + j * from_step, from_step, to + i * to_step + j, to_step);
      }
    }
  }
  transpose_scalars(from + whole_columns * from_step, from_step, to + whole_columns, to_step,
                    whole_rows, columns - whole_columns);
  transpose_scalars(from + whole_rows, from_step, to + whole_rows * to_step, to_step,
                    rows - whole_rows, columns);
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
  const std::int64_t strips = (a.size + tile_read<T> - 1) / tile_read<T>;
  const std::int64_t grain = std::max<std::int64_t>(1, chunk / (tile_read<T> * b.size));
  pool.for_chunks(box_size(outer) * strips, grain, [&](std::int64_t first, std::int64_t last) {
    for (auto item = first; item < last; ++item) {
      const BoxWalk row(outer, item / strips);
      const std::int64_t i = item % strips * tile_read<T>;
      for (std::int64_t j = 0; j < b.size; j += tile_written) {
        transpose_tile(from + row.from + i + j * b.from, b.from, to + row.to + i * a.to + j, a.to,
                       std::min(tile_read<T>, a.size - i), std::min(tile_written, b.size - j));
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
    if (axis.size == 0) empty_ = true;
    if (axis.size == 1) continue;
    if (!axes_.empty()) {
      Axis& last = axes_.back();
      if (last.from == axis.from * axis.size && last.to == axis.to * axis.size) {
        last = {last.size * axis.size, axis.from, axis.to};
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
    pool.for_chunks(n, chunk, [&](std::int64_t first, std::int64_t last) {
      std::copy_n(static_cast<const T*>(from) + first, last - first, static_cast<T*>(to) + first);
    });
  });
}

void fill_elements(ThreadPool& pool, DType dtype, std::int64_t n, const void* value, void* to) {
  visit_size(dtype, [&]<class T>() {
    const T element = value == nullptr ? T() : *static_cast<const T*>(value);
    pool.for_chunks(n, chunk, [&](std::int64_t first, std::int64_t last) {
      std::fill_n(static_cast<T*>(to) + first, last - first, element);
    });
  });
}

}  // namespace ondine::kernels
