// Windows of stride 1 over few channels, computed from the planes themselves. Internal to
#pragma once

#include "kernels/conv/conv_direction.h"

namespace ondine::math {

// Whether the path exists for a shape and is worth it.
template <class T>
bool takes_direct(const ConvShape& shape, Pass pass, const Kernels& kernels);

// forward: from = x, to = y; input_gradient: from = dy, to = dx.
template <class T>
std::size_t direct_workspace(const ConvShape& shape, Pass pass, int threads,
                             const Kernels& kernels);
template <class T>
void direct(ThreadPool& pool, const ConvShape& shape, Pass pass, const T* from, const T* w,
            const T* bias, Activation activation, T* to, Workspace workspace,
            const Kernels& kernels);

template <class T>
std::size_t direct_weight_gradient_workspace(const ConvShape& shape, int threads,
                                             const Kernels& kernels);
template <class T>
void direct_weight_gradient(ThreadPool& pool, const ConvShape& shape, const T* x, const T* dy,
                            T* dw, Workspace workspace, const Kernels& kernels);

}  // namespace ondine::math
