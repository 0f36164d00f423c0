// Attributes and rate of one iteration, which Adam and operators with its update share.
#pragma once

#include <array>
#include <utility>

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

// The attributes of Adam that a node has.
Attributes adam_attributes(const NodeView& node);

// Updates the variable of a node part by part: its first inputs are those of Adam of one variable
// without the gradient, its outputs those of Adam. Where the node has input `decay`, one number,
// that number times the old X is taken off the new one, as SgdUpdate does.
template <class T>
class AdamParts {
 public:
  enum Input : std::size_t { rate_in, count_in, x_in, v_in, h_in };
  static constexpr std::size_t states = 3;

  // `largest`: elements of a part.
  AdamParts(const BindContext& context, std::size_t decay, std::int64_t largest)
      : options_(context),
        read_(iteration_reader(context.dtype(rate_in))),
        decay_(decay),
        decays_(context.has_input(decay)) {
    for (std::size_t k = 0; k < states; ++k) {
      wanted_[k] = context.has_output(k);
      if (!wanted_[k]) unused_[k] = std::exchange(unused_elements_, unused_elements_ + largest);
    }
  }

  // Memory for results of a part that nobody reads.
  std::size_t unused_bytes() const {
    return static_cast<std::size_t>(unused_elements_) * sizeof(T);
  }

  math::Adam<T> options(KernelContext& call) const { return options_.at<T>(read_(call)); }

  // n elements from number `at` on. The gradient is overwritten.
  void update(KernelContext& call, const math::Adam<T>& options, std::int64_t at, std::int64_t n,
              T* gradient, void* unused) const {
    const auto out = [&](std::size_t k) {
      return wanted_[k] ? call.out<T>(k) + at : static_cast<T*>(unused) + unused_[k];
    };
    const T* const x = call.in<T>(x_in) + at;
    T* const next = decays_ ? gradient : out(0);
    math::adam(call.pool(), options, n, x, gradient, call.in<T>(v_in) + at, call.in<T>(h_in) + at,
               next, out(1), out(2));
    if (decays_) math::sgd(call.pool(), {.rate = *call.in<T>(decay_)}, n, next, x, out(0));
  }

 private:
  AdamOptions options_;
  ReadIteration read_;
  std::size_t decay_;
  bool decays_;
  std::array<bool, states> wanted_{};
  std::array<std::int64_t, states> unused_{};
  std::int64_t unused_elements_ = 0;
};

// Checks the inputs that AdamParts reads, and sets its outputs.
void infer_adam_parts(InferContext& context, std::size_t decay);
// The results of Adam with a gradient, less the decay.
std::vector<Val> expand_adam_parts(ExpandContext& context, Val gradient, std::size_t decay);

}  // namespace ondine::kernels::ops
