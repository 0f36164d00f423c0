// The proximal term of FedProx (Li et al. 2020, "Federated Optimization in Heterogeneous
// Networks").
#pragma once

#include <ondine/model.h>

namespace ondine::federated {

// A copy of `base` whose steps minimize the loss + mu / 2 * |w - w0|^2: after its Gradient node
// each derivative by a weight w gets mu * (w - w0) added, where w0 is the weight's value in
// `start`. Error(unsupported) for a model with several algorithms or Gradient nodes, and for one
// whose Gradient is not that of a metric, as with a loss scale.
Model with_proximal(const Model& base, const NamedValues& start, double mu);

}  // namespace ondine::federated
