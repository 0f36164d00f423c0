// Networks as PyTorch's exporter (dynamo=True) writes them.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/prepare.h"

namespace ondine::test {

// Model from x[N, 4] to y[N, 4], without nodes.
graph::ModelDef exported();
// Adds an initializer filled with a number: a named parameter, or one folded from "['a', 'b']".
void add_parameter(graph::ModelDef& model, const std::string& name, const Shape& shape, float fill);
void add_folded(graph::ModelDef& model, const std::string& name, const Shape& shape, float fill,
                const std::string& sources);
// Lists parameters in the metadata; names with "running" in them are those of buffers.
void list(graph::ModelDef& model, const std::vector<std::string>& names);
// Appends a node that reads the result of the node before (or x) and `others`; the last gives y.
void then(graph::ModelDef& model, const std::string& op, const std::vector<std::string>& others,
          const std::string& module, bool last = false);

// Prepares the model with the loss mse; merged parameters are apart or, with the option, tied.
PrepareReport prepared(graph::ModelDef& model, bool untie);
// Text of the notes, one a line.
std::string text_of(const std::vector<std::string>& notes);

}  // namespace ondine::test
