// Models of a few nodes on two double vectors, and Gradient nodes.
#pragma once

#include <string>
#include <vector>

#include <ondine/value.h>

#include "graph/ir/document.h"

namespace ondine::test {

inline constexpr const char* gradient_domain = "ai.onnx.preview.training";

// Inputs a and b, double [3], and flag, bool []; outputs `names`, double [?].
// Opsets: 18 of ai.onnx, 1 of Gradient's domain and of "local", for functions.
graph::ModelDef small_model(std::vector<graph::NodeDef> nodes,
                            const std::vector<std::string>& names);

// Runs it; the outputs in order.
std::vector<Tensor> run_model(const graph::ModelDef& model, const std::vector<double>& a,
                              const std::vector<double>& b, bool flag = true);

graph::NodeDef gradient(std::vector<std::string> inputs, std::vector<std::string> outputs,
                        std::vector<std::string> xs, const std::string& y,
                        std::vector<std::string> zs = {});

// A graph for a body: inputs with types, nodes, names of the outputs.
std::shared_ptr<const graph::GraphDef> body(std::vector<graph::ValueDef> inputs,
                                            std::vector<graph::NodeDef> nodes,
                                            std::vector<std::string> outputs);
// The formal inputs of a Loop body: iteration number, condition, then the given ones.
std::vector<graph::ValueDef> loop_inputs(std::vector<graph::ValueDef> carried);
graph::NodeDef int_constant(const std::string& name, std::int64_t value);
graph::NodeDef int_vector(const std::string& name, std::vector<std::int64_t> values);

}  // namespace ondine::test
