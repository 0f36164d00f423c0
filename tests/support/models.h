// Small training models, written by hand.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::test {

// y = x w + b, loss = mean((y - t)^2), w and b updated by gradient descent with `rate`.
// Inputs x [N, 2] and t [N, 1]; w [2, 1], b [1].
graph::ModelDef linear_regression(float rate);

// A two-layer perceptron 8-16-4 with softmax cross-entropy, dropout and Adam.
// Inputs x [N, 8] and label int64 [N]; outputs logits, loss.
graph::ModelDef dropout_classifier();

graph::ValueDef tensor_value(const std::string& name, DType dtype, std::vector<graph::DimDef> dims);
graph::NodeDef node(const std::string& op, std::vector<std::string> inputs,
                    std::vector<std::string> outputs, graph::Attributes attributes = {},
                    const std::string& domain = {});

std::vector<std::byte> encode(const graph::ModelDef& def);

}  // namespace ondine::test
