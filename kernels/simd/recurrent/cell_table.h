// Cells of an LSTM with the standard activations: sigmoid for the gates i, o, f, tanh for g and for
// the cell state in h. Rows of n hidden values; z holds the pre-activations of i, o, f, g one after
// the other and is overwritten with the activations. float and double.
#pragma once

#include <cstdint>

namespace ondine::math {

// One step of a batch of samples; strides are between the rows of samples, in elements:
// z = sigmoid or tanh of (W x + R h + bias), c_new = f c + i g, h_new = o tanh c_new.
template <class T>
struct LstmStep {
  std::int64_t samples, input, hidden;
  const T* packed;  // of CellKernels::pack_lstm
  const T* x;
  std::int64_t x_stride;
  const T* h;  // null: zeros; must not be h_new, which is written while h is still read
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

// dz, the gradient of the pre-activations, from the activations z. old and c are the cell states
// before and after the step; the gradient of h is dh + dy, or dh where dy is null. dc holds the
// gradient of c that later steps contribute, and is overwritten with the gradient of old.
// `next_...`: rows to prefetch, or null.
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
  // Elements of the packed weights of a step; w [4 hidden, input], r [4 hidden, hidden], both in
  // the order i, o, f, g, and a bias [4 hidden] or null.
  std::int64_t (*packed_lstm_elements)(std::int64_t input, std::int64_t hidden);
  void (*pack_lstm)(std::int64_t input, std::int64_t hidden, const T* w, const T* r, const T* bias,
                    T* packed);
  // The results of a sample do not depend on the other samples.
  void (*lstm_step)(const LstmStep<T>& step);
};

}  // namespace ondine::math
