// Cells of an LSTM with its usual activations: i, o, f = sigmoid, g and the shown cell = tanh. Rows
// of n hidden values; z holds the inputs of i, o, f, g one after the other. float and double.
#pragma once

#include <cstdint>

#include "kernels/math/isa.h"

namespace ondine::math {

template <class T>
struct CellKernels {
  // z += u;  c = f c + i g;  h = o tanh c
  void (*lstm)(T* z, const T* u, T* c, T* h, std::int64_t n);
  // dz from dh; old and c are the cell before and after. dc: in, what later steps add to the
  // derivative by c; out, the derivative by old.
  void (*lstm_gradient)(const T* z, const T* old, const T* c, const T* dh, T* dc, T* dz,
                        std::int64_t n);
};

template <class T>
const CellKernels<T>& cell_kernels(const Kernels& kernels = math::kernels()) noexcept;

}  // namespace ondine::math
