// Convolutions of groups of few channels in interleaved cells, for products that
// grouped_conv.cpp and grouped_conv_bf16.cpp define.
#pragma once

#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/vector/machine.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA::grouped {

using V = Vec<float>;

constexpr int L = lanes<float>;
// Blocks in registers: positions of `position_rows` rows, factors of `tap_count` taps.
constexpr int position_rows = 2;
constexpr int tap_count = 3;
constexpr int max_columns(int vectors) {
  return vectors == 1 ? BlockSizes{7, 6, 7, 5}.of_machine() : BlockSizes{7, 3, 7, 2}.of_machine();
}
constexpr int max_factors = has_32_registers ? 8 : 4;

// Lane i: from[i % G]. Spread as integers: vbroadcastss takes longer than vpbroadcastd on Zen 4.
template <int G>
ONDINE_INLINE V spread(const float* from) {
  if constexpr (G == L) {
    return load(from);
  } else if constexpr (G == 1) {
    std::int32_t one;
    __builtin_memcpy(&one, from, sizeof(one));
    return reinterpret_cast<V>(IVec<float>{} + one);
  } else if constexpr (G == 2) {
    std::int64_t both;
    __builtin_memcpy(&both, from, sizeof(both));
    return reinterpret_cast<V>(IVec<double>{} + both);
  } else {
#if defined(__AVX512F__)
    return reinterpret_cast<V>(_mm512_maskz_broadcast_f32x4(0xffff, _mm_loadu_ps(from)));
#elif defined(__AVX2__)
    return reinterpret_cast<V>(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(from)));
#endif
  }
}

// The cell of each position after the other.
class Cells {
 public:
  ONDINE_MEMBER Cells(const CellRows& rows, std::int64_t first) : rows_(rows), row_(first) {}
  ONDINE_MEMBER N next() {
    const N at = row_ + rows_.columns[column_];
    if (++column_ == rows_.width) {
      column_ = 0;
      row_ += rows_.row_step;
    }
    return at;
  }

 private:
  const CellRows& rows_;
  N row_;
  N column_ = 0;
};

// The first `count` positions of a plane, zeros where it is none.
ONDINE_INLINE V load_plane(const float* x, N plane, N count) {
  if (plane < 0) return V{};
  return count == L ? load(x + plane) : load_n(x + plane, count);
}

static void interleave(const CellRows& rows, const N* planes, const float* x, float* to) {
  Cells cells(rows, 0);
  const N n = rows.rows * rows.width;
  for (N p = 0; p < n; p += L) {
    const N count = min(L, n - p);
    V r[L];
#pragma GCC unroll 16
    for (int c = 0; c < L; ++c) r[c] = load_plane(x + p, planes[c], count);
    transpose<float>(r);
#pragma GCC unroll 16
    for (int j = 0; j < L; ++j) {
      if (j < count) store(to + cells.next(), r[j]);
    }
  }
}

static void deinterleave(const CellRows& rows, const N* planes, const float* from,
                         const float* bias, Activation activation, float* y) {
  const V more = bias ? load(bias) : V{};
  Cells cells(rows, 0);
  const N n = rows.rows * rows.width;
  for (N p = 0; p < n; p += L) {
    const N count = min(L, n - p);
    V r[L];
#pragma GCC unroll 16
    for (int j = 0; j < L; ++j) {
      r[j] = j < count ? activate<float>(load(from + cells.next()) + more, activation) : V{};
    }
    transpose<float>(r);
#pragma GCC unroll 16
    for (int c = 0; c < L; ++c) {
      if (planes[c] < 0) continue;
      if (count == L) {
        store(y + planes[c] + p, r[c]);
      } else {
        store_n(y + planes[c] + p, r[c], count);
      }
    }
  }
}

// Operands and results of a block of positions.
struct PositionBlock {
  const CellTap* taps;
  N count;
  N x_row, y_row, w_step, w_vector, y_vector;
};

template <class Products, int G, int Vectors, int Rows, int Columns>
void position_block(const PositionBlock& b, const float* x, const float* w, float* y) {
  V acc[Rows][Columns][Vectors] = {};
  for (const CellTap* tap = b.taps; tap != b.taps + b.count; ++tap) {
    const float* at = x + tap->x;
    const float* weights = w + tap->w;
    for (N k = 0; k < tap->steps; ++k, at += G, weights += b.w_step) {
      V row[Vectors];
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) row[v] = load(weights + v * b.w_vector);
#pragma GCC unroll 2
      for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < Columns; ++j) {
          const V factor = spread<G>(at + i * b.x_row + j * Products::cell);
#pragma GCC unroll 2
          for (int v = 0; v < Vectors; ++v) {
            acc[i][j][v] = Products::add(acc[i][j][v], factor, row[v]);
          }
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) {
        store(y + i * b.y_row + j * L + v * b.y_vector, acc[i][j][v]);
      }
    }
  }
}

using RunBlock = void (*)(const PositionBlock&, const float*, const float*, float*);
template <class Products, int G, int Vectors, int Rows, int... I>
RunBlock pick_columns(N columns, std::integer_sequence<int, I...>) {
  constexpr RunBlock all[] = {&position_block<Products, G, Vectors, Rows, I + 1>...};
  return all[columns - 1];
}
template <class Products, int G, int Vectors>
RunBlock pick_block(N rows, N columns) {
  constexpr auto every = std::make_integer_sequence<int, max_columns(Vectors)>();
  return rows == 1 ? pick_columns<Products, G, Vectors, 1>(columns, every)
                   : pick_columns<Products, G, Vectors, position_rows>(columns, every);
}

template <class Products, int G, int Vectors>
void run_positions(const CellPositions& p, const PositionBlock& b, const float* x, const float* w,
                   float* y) {
  constexpr N most = max_columns(Vectors);
  const N blocks = (p.width + most - 1) / most;
  const N full = (p.width + blocks - 1) / blocks;
  const N last = p.width - (blocks - 1) * full;
  for (N h = 0; h < p.rows; h += position_rows) {
    const N rows = min(position_rows, p.rows - h);
    const RunBlock full_block = pick_block<Products, G, Vectors>(rows, full);
    const float* at = x + h * p.x_row;
    float* to = y + h * p.y_row;
    for (N i = 1; i < blocks; ++i, at += full * Products::cell, to += full * L) {
      full_block(b, at, w, to);
    }
    pick_block<Products, G, Vectors>(rows, last)(b, at, w, to);
  }
}

template <class Products, int G>
void all_positions(const CellPositions& p, const PositionBlock& b, const float* x, const float* w,
                   N vectors, float* y) {
  N v = 0;
  if constexpr (G == 1) {
    for (; v + 2 <= vectors; v += 2) {
      run_positions<Products, G, 2>(p, b, x, w + v * b.w_vector, y + v * b.y_vector);
    }
  }
  for (; v < vectors; ++v) {
    run_positions<Products, G, 1>(p, b, x, w + v * b.w_vector, y + v * b.y_vector);
  }
}

template <class Products>
void positions(const CellPositions& p, const CellTap* taps, N count, const float* x, const float* w,
               N vectors, N w_vector, float* y, N y_vector) {
  if (p.width <= 0) return;
  const PositionBlock b{taps, count, p.x_row, p.y_row, p.w_step, w_vector, y_vector};
  const auto run = p.groups == 1   ? &all_positions<Products, 1>
                   : p.groups == 2 ? &all_positions<Products, 2>
                                   : &all_positions<Products, 4>;
  run(p, b, x, w, vectors, y);
}

// Operands of blocks of taps, over all images.
struct TapBlock {
  CellPositions positions;
  N images, x_image, dy_image;
};

template <class Products, int G, int Taps, int Factors>
void tap_block(const TapBlock& b, const CellTap* taps, N first, const float* x, const float* dy,
               float* sums) {
  const CellPositions& p = b.positions;
  V acc[Taps][Factors];
  float* to[Taps];
  N offset[Taps];
#pragma GCC unroll 3
  for (int t = 0; t < Taps; ++t) {
    to[t] = sums + taps[t].w + first * p.w_step;
    offset[t] = taps[t].x + first * G;
#pragma GCC unroll 8
    for (int k = 0; k < Factors; ++k) acc[t][k] = load(to[t] + k * p.w_step);
  }
  for (N image = 0; image < b.images; ++image) {
    for (N h = 0; h < p.rows; ++h) {
      const float* const row = x + image * b.x_image + h * p.x_row;
      const float* d = dy + image * b.dy_image + h * p.y_row;
      const float* at[Taps];
#pragma GCC unroll 3
      for (int t = 0; t < Taps; ++t) at[t] = row + offset[t];
      for (N w = 0; w < p.width * L; w += L, d += L) {
        const V gradient = load(d);
#pragma GCC unroll 3
        for (int t = 0; t < Taps; ++t) {
#pragma GCC unroll 8
          for (int k = 0; k < Factors; ++k) {
            acc[t][k] = Products::add(acc[t][k], spread<G>(at[t] + w + k * G), gradient);
          }
        }
      }
    }
  }
#pragma GCC unroll 3
  for (int t = 0; t < Taps; ++t) {
#pragma GCC unroll 8
    for (int k = 0; k < Factors; ++k) store(to[t] + k * p.w_step, acc[t][k]);
  }
}

template <class Products, int G>
void all_taps(const TapBlock& b, const CellTap* taps, N n, const float* x, const float* dy,
              float* sums) {
  constexpr int factors = max_factors * G < L ? max_factors : L / G;
  constexpr auto one = &tap_block<Products, G, 1, factors>;
  constexpr auto two = &tap_block<Products, G, 2, factors>;
  constexpr auto three = &tap_block<Products, G, tap_count, factors>;
  for (N i = 0; i < n;) {
    const CellTap* const first = taps + i;
    N count = 1;
    while (count < min(tap_count, n - i) && first[count].steps == first->steps) ++count;
    const auto run = count == 1 ? one : count == 2 ? two : three;
    for (N k = 0; k < first->steps; k += factors) run(b, first, k, x, dy, sums);
    i += count;
  }
}

template <class Products>
void taps(const CellPositions& p, const CellTap* taps, N count, N images, const float* x, N x_image,
          const float* dy, N dy_image, float* sums) {
  const auto run = p.groups == 1   ? &all_taps<Products, 1>
                   : p.groups == 2 ? &all_taps<Products, 2>
                                   : &all_taps<Products, 4>;
  run({p, images, x_image, dy_image}, taps, count, x, dy, sums);
}

}  // namespace ondine::math::ONDINE_ISA::grouped
