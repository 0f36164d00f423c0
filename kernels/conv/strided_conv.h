// Strided windows over planes, computed from padded copies of the planes.
#pragma once

#include "kernels/conv/conv_direction.h"

namespace ondine::math {

// How the positions of one dimension read the copy. The gradient by the input is one convolution of
// stride 1 for each phase (element modulo stride) with the taps that meet it.
struct WindowAxis {
  WindowAxis(const ConvShape& s, std::size_t dim, bool backwards);

  // Of tap k in the copy from a position of the phase on; -1 where the two never meet.
  std::int64_t offset(std::int64_t phase, std::int64_t k) const;
  std::int64_t meeting(std::int64_t phase) const;  // taps
  // Positions of a phase; the first one has the most.
  std::int64_t positions(std::int64_t phase) const {
    return (extent - phase + phases - 1) / phases;
  }
  // Elements of the copy for n positions.
  std::int64_t span(std::int64_t n) const { return (n - 1) * step + reach + 1; }

  bool backward;
  std::int64_t stride, dilation, pad, kernel;
  std::int64_t extent;  // of the result
  std::int64_t phases;
  std::int64_t step;   // in the copy from a position to the next
  std::int64_t low;    // what the first element of the copy for position 0 is in the source
  std::int64_t reach;  // the largest offset
};

// Whether the path exists for a shape and is worth it.
template <class T>
bool takes_window(const ConvShape& shape, Pass pass, const Kernels& kernels);

// forward: from = x, to = y; input_gradient: from = dy, to = dx.
template <class T>
std::size_t window_workspace(const ConvShape& shape, Pass pass, int threads,
                             const Kernels& kernels);
template <class T>
void window(ThreadPool& pool, const ConvShape& shape, Pass pass, const T* from, const T* w,
            const T* bias, Activation activation, T* to, Workspace workspace,
            const Kernels& kernels);

template <class T>
std::size_t window_weight_gradient_workspace(const ConvShape& shape, int threads,
                                             const Kernels& kernels);
template <class T>
void window_weight_gradient(ThreadPool& pool, const ConvShape& shape, const T* x, const T* dy,
                            T* dw, Workspace workspace, const Kernels& kernels);

}  // namespace ondine::math
