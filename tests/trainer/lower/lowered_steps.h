// Training models beside their lowered steps.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ondine/build.h>
#include <ondine/lower.h>
#include <ondine/prepare.h>

#include "tests/support/op_harness.h"

namespace ondine::test {

// Trains `model` and runs its lowered step `steps` times with the same feeds, each with its own
// state: results and state must be close. Returns what was lowered.
LowerReport check_lowered(Model& model, const NamedValues& feeds, const LowerOptions& options = {},
                          int steps = 3, Closeness closeness = {1e-5, 1e-6});
// Checks the lowered step likewise, with other feeds in every step.
LowerReport check_lowered_on(Model& model, std::span<const NamedValues> feeds,
                             const LowerOptions& options = {}, Closeness closeness = {1e-5, 1e-6});

// Model whose output `layers` computes from the input x, trained by mean squared error with
// `optimizer`.
using Layers = std::function<std::string(ModelBuilder&, std::string x)>;
Model trained_network(const Shape& x, const Shape& y, const Layers& layers,
                      const Optimizer& optimizer = Sgd{}, std::int64_t opset = 17,
                      WeightInit init = WeightInit::keep);
// trained_network() with names for sizes that a step may choose.
using NetworkDims = std::vector<ModelBuilder::Dim>;
Model trained_network_of(const NetworkDims& x, const NetworkDims& y, const Layers& layers,
                         const Optimizer& optimizer = Sgd{}, std::int64_t opset = 17,
                         WeightInit init = WeightInit::keep);
// Feeds for a trained network.
NamedValues network_feeds(const Shape& x, const Shape& y);

// Trains such a network and its lowered step side by side.
void check_network(const Shape& x, const Shape& y, const Layers& layers, std::int64_t opset = 17);
// A convolution (or what `op` says) of x with weights "w" of this shape.
std::string conv(ModelBuilder& b, const std::string& op, const std::string& x, const Shape& w,
                 const ModelBuilder::Attributes& attributes = {});

// The domains that the nodes of a model come from.
std::vector<std::string> imported_domains(std::span<const std::byte> model);

}  // namespace ondine::test
