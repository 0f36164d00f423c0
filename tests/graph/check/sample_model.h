// Small written models for the checks.
#pragma once

#include <string>
#include <vector>

#include "graph/check/structure.h"
#include "graph/ir/document.h"
#include "tests/graph/check/standard_catalogue.h"

namespace ondine::test {

inline graph::TypeDef tensor_type(DType dtype, std::vector<graph::DimDef> dims) {
  graph::TypeDef type;
  type.kind = graph::TypeKind::tensor;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return type;
}

inline graph::ValueDef value(const std::string& name,
                             std::vector<graph::DimDef> dims = {std::int64_t{2}},
                             DType dtype = DType::float32) {
  return {name, tensor_type(dtype, std::move(dims)), {}, {}};
}

inline graph::NodeDef node(const std::string& op, std::vector<std::string> inputs,
                           std::vector<std::string> outputs, graph::Attributes attributes = {},
                           const std::string& domain = {}) {
  graph::NodeDef out;
  out.op = op;
  out.domain = domain;
  out.inputs = std::move(inputs);
  out.outputs = std::move(outputs);
  out.attributes = std::move(attributes);
  return out;
}

inline graph::InitializerDef initializer(const std::string& name, std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return {name, Tensor::of<float>({size}, values), {}, {}};
}

inline std::shared_ptr<const graph::GraphDef> body(graph::GraphDef graph) {
  if (graph.name.empty()) graph.name = "body";
  return std::make_shared<const graph::GraphDef>(std::move(graph));
}

inline constexpr const char* training_domain = "ai.onnx.preview.training";

// y = x * w
inline graph::ModelDef sample_model() {
  graph::ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 21}, {training_domain, 1}};
  model.graph.name = "sample";
  model.graph.inputs = {value("x")};
  model.graph.outputs = {value("y")};
  model.graph.initializers = {initializer("w", {1, 2})};
  model.graph.nodes = {node("Mul", {"x", "w"}, {"y"})};
  return model;
}

// w -= d(sum y)/dw
inline graph::ModelDef sample_training_model() {
  graph::ModelDef model = sample_model();
  graph::GraphDef algorithm;
  algorithm.name = "step";
  algorithm.nodes = {
      node("Gradient", {"w"}, {"dw"},
           {{"xs", std::vector<std::string>{"w"}}, {"y", std::string("y")}}, training_domain),
      node("Sub", {"w", "dw"}, {"w_new"})};
  algorithm.outputs = {value("w_new")};
  graph::TrainingInfoDef info;
  info.algorithm = std::move(algorithm);
  info.update_binding = {{"w", "w_new"}};
  model.training = {std::move(info)};
  return model;
}

// double_it(a) = a + a, in domain "local"
inline graph::FunctionDef sample_function(const std::string& name = "double_it") {
  graph::FunctionDef function;
  function.name = name;
  function.domain = "local";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.opsets = {{"", 21}, {"local", 1}};
  function.nodes = {node("Add", {"a", "a"}, {"b"})};
  return function;
}

inline graph::ModelDef sample_function_model() {
  graph::ModelDef model = sample_model();
  model.opsets.push_back({"local", 1});
  model.functions = {sample_function()};
  model.graph.nodes = {node("double_it", {"x"}, {"y"}, {}, "local")};
  return model;
}

// All findings, one line each.
inline std::string findings_of(const graph::ModelDef& model, const Limits& limits = {}) {
  graph::Findings findings;
  graph::check_structure(model, standard_catalogue(), limits, findings);
  std::string out;
  for (const auto& line : findings.texts()) out += line + "\n";
  return out;
}

}  // namespace ondine::test
