// How tiles of Winograd convolutions become components: y = A^T ((G g G^T) (B^T d B)) A for stride
// 1, with the matrices for the points 0, 1, -1, infinity, and what winograd_form.h says for stride
// 2. A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015. winograd_taps.h
// has G.
#pragma once

#include "kernels/simd/conv/winograd_form.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

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

template <class Matrix>
struct Adjoint {
  static constexpr float at(int i, int j) { return Matrix::at(j, i); }
};

// For each form:
//   tile, sources, results   as WinogradForm
//   step, span               elements of the source from a tile to the next, and those of a tile
//   edge, row(i, odd)        rows that Input takes, and which of the tile they are
//   place(i, odd)            which of a tile of the result is row i of Output
//   odd                      TileRows::odd_h or odd_w
//   Input, Output            matrices
template <const WinogradForm& Form>
struct TileForm {
  static constexpr int tile = Form.tile();
  static constexpr int sources = Form.axis().sources, results = Form.axis().results;
  static constexpr int row(int i, bool) { return i; }
  static constexpr int place(int i, bool) { return i; }
};

struct UnitTiles : TileForm<winograd_unit> {
  static constexpr int step = 2, span = 4, edge = 4;
  struct Input {
    static constexpr float at(int i, int j) { return rows[i][j]; }
    static constexpr float rows[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
  };
  struct Output {
    static constexpr float at(int i, int j) { return rows[i][j]; }
    static constexpr float rows[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
  };
};

struct StridedTiles : TileForm<winograd_strided> {
  static constexpr int step = 4, span = 5, edge = 5;
  struct Input {
    static constexpr float at(int i, int j) { return rows[i][j]; }
    static constexpr float rows[5][5] = {
        {1, 0, -1, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 1, 0}, {0, 0, -1, 0, 1}};
  };
  struct Output {
    static constexpr float at(int i, int j) { return rows[i][j]; }
    static constexpr float rows[2][3] = {{1, 1, 0}, {0, 1, 1}};
  };
};

struct StridedBackTiles : TileForm<winograd_strided_back> {
  static constexpr int step = 2, span = 3, edge = 4;
  static constexpr int row(int i, bool odd) { return i < 3 ? i : odd ? 0 : 2; }
  static constexpr int place(int i, bool odd) { return odd ? i : (i + 3) % 4; }
  struct Input {
    static constexpr float at(int i, int j) { return rows[i][j]; }
    static constexpr float rows[4][4] = {{1, -1, 0, 0}, {0, 1, 0, 0}, {0, -1, 1, 0}, {0, 0, 0, 1}};
  };
  struct Output {
    static constexpr float at(int i, int j) { return rows[i][j]; }
    static constexpr float rows[4][5] = {
        {0, 0, 0, 0, 1}, {1, 1, 0, 0, 0}, {0, 0, 0, 1, 0}, {0, 1, 1, 0, 0}};
  };
};

}  // namespace ondine::math::ONDINE_ISA
