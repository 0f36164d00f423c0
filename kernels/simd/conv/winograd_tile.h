// Winograd's minimal filtering F(2, 3) in two dimensions: y = A^T ((G g G^T) (B^T d B)) A, the
// matrices for the points 0, 1, -1, infinity. A. Lavin, S. Gray, Fast Algorithms for Convolutional
// Neural Networks, 2015. winograd_taps.h has G.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr int tile = 2;
inline constexpr int tile_edge = tile + 2;  // of its input and of its components
inline constexpr int components = tile_edge * tile_edge;

// to[i to_step] = sum over j of m(i, j) from[j from_step]
template <class Matrix, int Rows, int Cols>
ONDINE_INLINE void apply(Vec<float>* to, int to_step, const Vec<float>* from, int from_step) {
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
    Vec<float> sum{};
    bool any = false;
#pragma GCC unroll 8
    for (int j = 0; j < Cols; ++j) {
      const float c = Matrix::at(i, j);
      if (c == 0) continue;
      const Vec<float> x = from[j * from_step];
      if (!any) {
        sum = c == 1 ? x : c == -1 ? -x : c * x;
      } else if (c == 1) {
        sum += x;
      } else if (c == -1) {
        sum -= x;
      } else {
        sum += c * x;
      }
      any = true;
    }
    to[i * to_step] = sum;
  }
}

// to = m from m^T, from being Cols x Cols and to Rows x Rows.
template <class Matrix, int Rows, int Cols>
ONDINE_INLINE void apply_both(Vec<float>* to, const Vec<float>* from) {
  Vec<float> half[Rows * Cols];
#pragma GCC unroll 8
  for (int j = 0; j < Cols; ++j) apply<Matrix, Rows, Cols>(half + j, Cols, from + j, Cols);
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) apply<Matrix, Rows, Cols>(to + i * Rows, 1, half + i * Cols, 1);
}

struct InputMatrix {
  static constexpr float at(int i, int j) { return rows[i][j]; }
  static constexpr float rows[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
};
struct OutputMatrix {
  static constexpr float at(int i, int j) { return rows[i][j]; }
  static constexpr float rows[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
};
template <class Matrix>
struct Adjoint {
  static constexpr float at(int i, int j) { return Matrix::at(j, i); }
};

}  // namespace ondine::math::ONDINE_ISA
