// Networks as PyTorch's exporter (dynamo=True) writes them.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/prepare.h"

namespace ondine::test {

// From x[N, 4] to y[N, 4], without nodes.
graph::ModelDef exported();
// An initializer filled with a number and called a parameter, or folded from "['a', 'b']".
void add_parameter(graph::ModelDef& model, const std::string& name, const Shape& shape, float fill);
void add_folded(graph::ModelDef& model, const std::string& name, const Shape& shape, float fill,
                const std::string& sources);
// Lists parameters in the metadata; names with "running" in them are those of buffers.
void list(graph::ModelDef& model, const std::vector<std::string>& names);
// Appends a node that reads what the last one gave, or x, and `others`; the last one gives y.
void then(graph::ModelDef& model, const std::string& op, const std::vector<std::string>& others,
          const std::string& module, bool last = false);

// With the loss mse, merged parameters apart or, with the option, tied.
PrepareReport prepared(graph::ModelDef& model, bool untie);
// One note a line.
std::string text_of(const std::vector<std::string>& notes);

}  // namespace ondine::test
