// Positions of a window as rows of products, whose factors strided_conv.cpp and
// strided_conv_bf16.cpp define.
#pragma once

#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/vector/machine.h"

namespace ondine::math::ONDINE_ISA::strided {

using V = Vec<float>;

constexpr int L = lanes<float>;
constexpr N panel = 2 * lanes<float>;
constexpr int max_positions = BlockSizes{14, 6, 8, 4}.of_machine();

// Products:
//   add<P, Vectors, Step>(acc, x, weights)
//                     acc[i] += factor x[i Step] times a vector of weights, for P positions
template <class Products, int P, int Vectors, int Step>
static void position_block(const float* x, const N* offsets, N depth, const float* w, bool first,
                           float* sums) {
  V acc[P][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < P; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) acc[i][v] = first ? V{} : load(sums + i * panel + v * L);
  }
  for (N k = 0; k < depth; ++k, w += panel) {
    const float* const at = x + offsets[k];
    V b[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) b[v] = load(w + v * L);
    Products::template add<P, Vectors, Step>(acc, at, b);
  }
#pragma GCC unroll 16
  for (int i = 0; i < P; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) store(sums + i * panel + v * L, acc[i][v]);
  }
}

using PositionBlock = void (*)(const float*, const N*, N, const float*, bool, float*);
template <class Products, int Vectors, int Step, int... I>
static PositionBlock pick_positions(N count, std::integer_sequence<int, I...>) {
  constexpr PositionBlock all[] = {&position_block<Products, I + 1, Vectors, Step>...};
  return all[count - 1];
}
template <class Products, int Vectors>
static PositionBlock pick_positions(N count, N step) {
  constexpr auto every = std::make_integer_sequence<int, max_positions>();
  return step == 1 ? pick_positions<Products, Vectors, 1>(count, every)
                   : pick_positions<Products, Vectors, 2>(count, every);
}

template <class Products>
static void positions(const StridedRows& r, const float* x, const N* offsets, const float* weights,
                      bool first, float* sums) {
  const bool one = r.lanes <= L;
  const N blocks = (r.width + max_positions - 1) / max_positions;
  const N full = (r.width + blocks - 1) / blocks;
  const N last = r.width - (blocks - 1) * full;
  const auto pick = one ? &pick_positions<Products, 1> : &pick_positions<Products, 2>;
  const PositionBlock full_block = pick(full, r.step);
  const PositionBlock last_block = pick(last, r.step);
  for (N h = 0; h < r.rows; ++h, x += r.row_step) {
    const float* at = x;
    for (N b = 1; b < blocks; ++b, at += full * r.step, sums += full * panel) {
      full_block(at, offsets, r.depth, weights, first, sums);
    }
    last_block(at, offsets, r.depth, weights, first, sums);
    sums += last * panel;
  }
}

}  // namespace ondine::math::ONDINE_ISA::strided
