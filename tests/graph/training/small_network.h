// A small network to prepare, and checks of the result.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::test {

graph::ValueDef value(const std::string& name, std::vector<graph::DimDef> dims,
                      DType dtype = DType::float32);
// Named "node_" and its first output.
graph::NodeDef named_node(const std::string& op, std::vector<std::string> inputs,
                          std::vector<std::string> outputs, graph::Attributes attributes = {});
// Adds an initializer of zeros.
void weight(graph::ModelDef& model, const std::string& name, const Shape& shape);
// x -> Conv -> BatchNormalization -> Relu -> Flatten -> Dropout -> Gemm -> Softmax
graph::ModelDef network(std::int64_t opset = 17);

// nullptr when there is none.
const graph::NodeDef* find_op(const graph::GraphDef& graph, const std::string& op);
std::set<std::string> keys(const graph::Properties& bindings);
// Every name is made once and before it is read, over main and algorithm graph together.
void require_single_assignment(const graph::ModelDef& model);

}  // namespace ondine::test
