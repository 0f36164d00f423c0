// Attributes and rate of one iteration, which Adam and GemmAdam share.
#pragma once

#include "kernels/optimizer/optimizer.h"

namespace ondine::kernels::ops {

struct AdamOptions {
  double alpha, beta, epsilon, norm, norm_post;

  explicit AdamOptions(const NodeView& node);

  // With the factor that corrects the bias of the means.
  double rate(const Iteration& at) const;
  template <class T>
  math::Adam<T> at(const Iteration& iteration) const {
    return {.rate = static_cast<T>(rate(iteration)),
            .alpha = static_cast<T>(alpha),
            .beta = static_cast<T>(beta),
            .norm = static_cast<T>(norm),
            .norm_post = static_cast<T>(norm_post),
            .epsilon = static_cast<T>(epsilon)};
  }
};

}  // namespace ondine::kernels::ops
