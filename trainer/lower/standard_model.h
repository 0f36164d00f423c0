// An expanded graph as a model of standard operators.
#pragma once

#include <string>
#include <vector>

#include <ondine/limits.h>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"
#include "graph/training/lower/to_definition.h"

namespace ondine::trainer {

// The version of ai.onnx that `wanted` says or, without it, the newest that the model and its
// functions import, at least 18: derivatives need the forms of that version. Error(mismatch) for
// versions below 18 and above the newest.
std::int64_t lowered_opset(const graph::ModelDef& model, std::optional<std::int64_t> wanted);

struct NamedInput {
  std::string name;
  Tensor initial;      // undefined if there is none
  bool always = true;  // otherwise only if something reads it
};

// Rewrites a graph in standard operators of version `opset` and returns a model with what `source`
// says of itself (producer, metadata), but neither training information nor functions. `inputs` are
// those of the graph, in order; `outputs` name its outputs. Error(unsupported) names the node that
// cannot be written.
graph::ModelDef standard_model(graph::Graph graph, const std::vector<NamedInput>& inputs,
                               const std::vector<std::string>& outputs,
                               const graph::ModelDef& source, std::int64_t opset,
                               const Limits& limits);

}  // namespace ondine::trainer
