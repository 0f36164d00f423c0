// Cells of an LSTM with its usual activations: i, o, f = sigmoid, g and the shown cell = tanh. Rows
// of n hidden values; z holds the inputs of i, o, f, g one after the other, then their results.
// float and double.
#pragma once

#include <cstdint>

namespace ondine::math {

// One step of some samples, whose rows lie the strides apart:
// z = sigmoid or tanh of (W x + R h + bias), c_new = f c + i g, h_new = o tanh c_new.
template <class T>
struct LstmStep {
  std::int64_t samples, input, hidden;
  const T* packed;  // of CellKernels::pack_lstm
  const T* x;
  std::int64_t x_stride;
  const T* h;  // null: zeros. Not changed before all of it was read: must not be h_new.
  std::int64_t h_stride;
  const T* c;  // may be c_new
  std::int64_t c_stride;
  T* z;
  std::int64_t z_stride;
  T* h_new;
  std::int64_t h_new_stride;
  T* c_new;
  std::int64_t c_new_stride;
};

// dz, the derivative by the inputs of a cell, from the results z; old and c are the cell before and
// after, dh + dy (or dh, where dy is null) is the derivative by h. dc: in, what later steps add to
// the derivative by c; out, the derivative by old. `next_...`: rows that are wanted soon, or null.
template <class T>
struct LstmGradient {
  std::int64_t n;
  const T *z, *old, *c, *dh, *dy;
  T *dc, *dz;
  const T* next_z = nullptr;
  const T* next_old = nullptr;
  const T* next_dy = nullptr;
};

template <class T>
struct CellKernels {
  // z becomes i, o, f, g;  c = f c + i g;  h = o tanh c
  void (*lstm)(T* z, T* c, T* h, std::int64_t n);
  void (*lstm_gradient)(const LstmGradient<T>& row);
  // Elements of the matrices of a step, packed; w [4 hidden, input], r [4 hidden, hidden], both in
  // the order i, o, f, g, and a bias [4 hidden] or null.
  std::int64_t (*packed_lstm_elements)(std::int64_t input, std::int64_t hidden);
  void (*pack_lstm)(std::int64_t input, std::int64_t hidden, const T* w, const T* r, const T* bias,
                    T* packed);
  // A sample's results do not depend on which others are there.
  void (*lstm_step)(const LstmStep<T>& step);
};

}  // namespace ondine::math
