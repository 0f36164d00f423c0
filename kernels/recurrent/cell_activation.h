// The activations of recurrent cells, on rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/contract/node_view.h"

namespace ondine::kernels {

// f(x) and its derivative; x is the input of f. `alpha` and `beta` as in the operators of the same
// names.
struct CellActivation {
  enum class Kind : std::uint8_t {
    sigmoid,
    tanh,
    relu,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus,
  };
  Kind kind = Kind::sigmoid;
  double alpha = 0;
  double beta = 0;
  double clip = 0;  // bound of |x|, 0: none

  template <class C>
  void apply(const C* x, C* y, std::int64_t n) const;
  // dx = dy f'(x), zero where x is clipped; y = f(x). dx may be dy.
  template <class C>
  void gradient(const C* x, const C* y, const C* dy, C* dx, std::int64_t n) const;
};

// The attributes activations, activation_alpha, activation_beta and clip; `defaults` are those of
// one direction. Error(invalid_model) for an unknown name, Error(mismatch) for another number of
// names and a negative clip.
std::vector<CellActivation> read_activations(const graph::NodeView& node,
                                             std::span<const std::string_view> defaults,
                                             std::int64_t directions);

}  // namespace ondine::kernels
