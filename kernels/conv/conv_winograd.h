// 3 x 3 windows of stride 1 in float by Winograd's minimal filtering.
#pragma once

#include "kernels/conv/conv_direction.h"

namespace ondine::math {

// Whether the path exists for a shape and is worth it; never in double.
template <class T>
bool takes_winograd(const ConvShape& shape, const Kernels& kernels);

template <class T>
std::size_t winograd_workspace(const ConvShape& shape, Pass pass, int threads,
                               const Kernels& kernels);
// forward: from = x, to = y; input_gradient: from = dy, to = dx.
template <class T>
void winograd(ThreadPool& pool, const ConvShape& shape, Pass pass, const T* from, const T* w,
              const T* bias, Activation activation, T* to, Workspace workspace,
              const Kernels& kernels);

template <class T>
std::size_t winograd_weight_gradient_workspace(const ConvShape& shape, int threads,
                                               const Kernels& kernels);
template <class T>
void winograd_weight_gradient(ThreadPool& pool, const ConvShape& shape, const T* x, const T* dy,
                              T* dw, Workspace workspace, const Kernels& kernels);

}  // namespace ondine::math
