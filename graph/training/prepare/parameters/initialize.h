// The initialization graph of a prepared model.
#pragma once

#include <functional>
#include <span>
#include <string>

#include <ondine/prepare.h>

#include "graph/training/prepare/parameters/fresh.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/updates/master_weight.h"

namespace ondine::graph {

// Initialization that WeightInit::automatic selects for this model, and the reason.
struct ChosenInit {
  WeightInit init = WeightInit::keep;
  std::string reason;
};
// Looks at parameters, trained or frozen, and at quantized weights. Ignores `fresh`, weights of a
// new head, of embeddings and of adapters that prepare added.
ChosenInit choose_init(const ModelDef& model, const ParameterChoice& parameters,
                       const Fresh& fresh = {});

// Whether a weight of two or more dims multiplies its data, in a subgraph or a function too, so
// that its scale can be unusual.
bool multiplies_data(const GraphDef& graph, std::span<const FunctionDef> functions,
                     const InitializerDef& weight);

// Like multiplies_data(), but false for tables whose rows are looked up and that nothing
// multiplies.
bool is_product_weight(const GraphDef& graph, std::span<const FunctionDef> functions,
                       const InitializerDef& weight);

// Draws for every trained weight of two or more dims that multiplies its data (biases and other
// element-wise operands restart from their initializers), and for `fresh`, by its rules, in any
// case. Weights with a master are what this, drawn in float32, rounds to. Outputs are bound in
// `bindings`; the graph stays empty when there is nothing to draw.
void write_initialization(GraphWriter& writer, const ModelDef& model,
                          const std::vector<const InitializerDef*>& trained, WeightInit init,
                          const Masters& masters, Properties& bindings, const Fresh& fresh = {});

}  // namespace ondine::graph
