// Cells of an LSTM with its usual activations: i, o, f = sigmoid, g and the shown cell = tanh. Rows
// of n hidden values; z holds the inputs of i, o, f, g one after the other, then their results.
// float and double.
#pragma once

#include <cstdint>

#include "kernels/math/isa.h"

namespace ondine::math {

template <class T>
struct CellKernels {
  // z becomes i, o, f, g;  c = f c + i g;  h = o tanh c
  void (*lstm)(T* z, T* c, T* h, std::int64_t n);
  // dz, the derivative by the inputs, from dh and the results z; old and c are the cell before and
  // after. dc: in, what later steps add to the derivative by c; out, the derivative by old.
  // Where ahead is not 0, z + ahead is z of a later call.
  void (*lstm_gradient)(const T* z, const T* old, const T* c, const T* dh, T* dc, T* dz,
                        std::int64_t n, std::int64_t ahead);
};

template <class T>
const CellKernels<T>& cell_kernels(const Kernels& kernels = math::kernels()) noexcept;

}  // namespace ondine::math
