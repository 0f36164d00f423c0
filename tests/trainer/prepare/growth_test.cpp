// Cost of prepare per node does not depend on how many nodes there are, of whatever kind they are.
#include <catch2/catch.hpp>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ondine/build.h>
#include <ondine/model.h>

#include "graph/training/prepare/prepare.h"
#include "tests/support/models.h"
#include "tests/trainer/counted_memory.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT
using graph::GraphDef;
using graph::InitializerDef;
using graph::ModelDef;
using graph::NodeDef;

namespace {

constexpr std::int64_t width = 4;

using MakeModel = std::function<ModelDef(int cells)>;

Tensor filled(const Shape& shape, float value) {
  Tensor tensor(DType::float32, shape);
  for (float& one : tensor.mutable_values<float>()) one = value;
  return tensor;
}

void add(GraphDef& graph, const std::string& name, Tensor value) {
  InitializerDef& one = graph.initializers.emplace_back();
  one.name = name;
  one.value = std::move(value);
}

NodeDef& add_node(GraphDef& graph, const std::string& op, std::vector<std::string> inputs,
                  const std::string& output, graph::Attributes attributes = {}) {
  return graph.nodes.emplace_back(node(op, std::move(inputs), {output}, std::move(attributes)));
}

// From x[N, 4] to y[N, 4], made from `last` by a layer.
ModelDef finished(ModelDef model, const std::string& last) {
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  GraphDef& graph = model.graph;
  graph.name = "long";
  graph.inputs = {tensor_value("x", DType::float32, {std::string("N"), width})};
  graph.outputs = {tensor_value("y", DType::float32, {std::string("N"), width})};
  add(graph, "head.weight", filled({width, width}, 0.5F));
  add_node(graph, "MatMul", {last, "head.weight"}, "y");
  return model;
}

// Parameters and statistics of modules, summed before they meet the input.
ModelDef sums_of_parameters(int cells) {
  ModelDef model;
  model.producer_name = "pytorch";
  GraphDef& graph = model.graph;
  add(graph, "m0.weight", filled({width}, 1));
  std::string sum = "m0.weight";
  for (int i = 1; i <= cells; ++i) {
    const std::string module = "m" + std::to_string(i);
    const char* part = i % 2 == 0 ? ".weight" : ".running_var";
    add(graph, module + part, filled({width}, 1));
    add_node(graph, "Add", {sum, module + part}, module);
    sum = module;
  }
  add_node(graph, "Mul", {"x", sum}, "scaled");
  return finished(std::move(model), "scaled");
}

// Weights in Constant nodes, which a branch defines again under the same names.
ModelDef constants_and_branches(int cells) {
  ModelDef model;
  GraphDef& graph = model.graph;
  add(graph, "condition", Tensor::scalar(true));
  std::string value = "x";
  for (int i = 0; i < cells; ++i) {
    const std::string number = std::to_string(i);
    const Tensor weight = filled({width, width}, 0.5F);
    add_node(graph, "Constant", {}, "w" + number, {{"value", weight}});
    add_node(graph, "MatMul", {value, "w" + number}, "m" + number);
    const auto branch = [&](const std::string& op) {
      auto body = std::make_shared<GraphDef>();
      body->name = op + number;
      add_node(*body, "Constant", {}, "b" + number, {{"value", filled({width}, 0.25F)}});
      add_node(*body, op, {"m" + number, "b" + number}, op + number);
      body->outputs = {tensor_value(op + number, DType::float32, {std::string("N"), width})};
      return std::shared_ptr<const GraphDef>(body);
    };
    add_node(graph, "If", {"condition"}, "v" + number,
             {{"then_branch", branch("Add")}, {"else_branch", branch("Sub")}});
    value = "v" + number;
  }
  return finished(std::move(model), value);
}

// Layers whose biases are repetitions of the first one, as the TorchScript exporter writes them.
ModelDef identities(int cells) {
  ModelDef model;
  model.producer_name = "pytorch";
  GraphDef& graph = model.graph;
  add(graph, "l.bias", filled({width}, 0));
  for (int i = 0; i < cells; ++i) {
    add_node(graph, "Identity", {"l.bias"}, "l" + std::to_string(i) + ".bias");
  }
  std::string value = "x";
  for (int i = 0; i < cells; ++i) {
    const std::string module = "l" + std::to_string(i);
    add(graph, module + ".weight", filled({width, width}, 0.5F));
    add_node(graph, "Gemm", {value, module + ".weight", module + ".bias"}, "v" + module).name =
        "/" + module + "/Gemm";
    value = "v" + module;
  }
  return finished(std::move(model), value);
}

// Normalizations that train, each a run of the same statistics or of its own, and dropout.
ModelDef normalizations(int cells) {
  ModelDef model;
  GraphDef& graph = model.graph;
  std::string value = "x";
  for (int i = 0; i < cells; ++i) {
    const std::string number = std::to_string(i);
    std::vector<std::string> inputs{value};
    for (const char* part : {"scale", "bias", "mean", "var"}) {
      inputs.push_back(part + number);
      add(graph, part + number, filled({width}, 1));
    }
    add_node(graph, "BatchNormalization", inputs, "n" + number);
    add_node(graph, "Dropout", {"n" + number}, "d" + number);
    value = "d" + number;
  }
  return finished(std::move(model), value);
}

// Products between which nothing changes a sign.
ModelDef products(int cells) {
  ModelDef model;
  GraphDef& graph = model.graph;
  std::string value = "x";
  for (int i = 0; i < cells; ++i) {
    const std::string number = std::to_string(i);
    add(graph, "w" + number, filled({width, width}, 0.5F));
    add_node(graph, "MatMul", {value, "w" + number}, "m" + number);
    add_node(graph, "Identity", {"m" + number}, "i" + number);
    value = "i" + number;
  }
  return finished(std::move(model), value);
}

struct Cost {
  double allocations = 0;
  double seconds = 0;  // of the processor
};

// Cost per cell.
Cost cost_of(const MakeModel& make, const PrepareOptions& options, int cells) {
  ModelDef model = make(cells);
  const std::size_t before = allocations();
  const std::clock_t start = std::clock();
  graph::prepare(model, options);
  const std::clock_t end = std::clock();
  return {static_cast<double>(allocations() - before) / cells,
          static_cast<double>(end - start) / CLOCKS_PER_SEC / cells};
}

// Whatever visits all nodes for each node costs sixteen times as much; caches explain much less.
void require_linear(const MakeModel& make, PrepareOptions options = {}) {
  options.loss = Loss::mse;
  const Cost few = cost_of(make, options, 250);
  const Cost many = cost_of(make, options, 4000);
  CHECK(many.allocations < 1.25 * few.allocations);
  bool is_linear = many.seconds < 6 * few.seconds;
  for (int attempt = 0; attempt < 4 && !is_linear; ++attempt) {
    is_linear = cost_of(make, options, 4000).seconds < 6 * cost_of(make, options, 250).seconds;
  }
  CHECK(is_linear);
}

// An If in a branch of an If, and so on.
std::shared_ptr<const GraphDef> nested(int depth) {
  auto body = std::make_shared<GraphDef>();
  const std::string result = "r" + std::to_string(depth);
  body->name = "b" + std::to_string(depth);
  body->outputs = {tensor_value(result, DType::float32, {std::string("N"), width})};
  if (depth == 0) {
    add_node(*body, "Relu", {"x"}, result);
  } else {
    add_node(*body, "If", {"condition"}, result,
             {{"then_branch", nested(depth - 1)}, {"else_branch", nested(0)}});
  }
  return body;
}

double allocations_of_nested(int depth) {
  ModelDef model;
  model.graph = *nested(depth);
  add(model.graph, "condition", Tensor::scalar(true));
  model = finished(std::move(model), "r" + std::to_string(depth));
  PrepareOptions options;
  options.loss = Loss::mse;
  const std::size_t before = allocations();
  prepare(encode(model), options);
  return static_cast<double>(allocations() - before);
}

}  // namespace

TEST_CASE("parameters that are summed before they are used cost the same in longer sums") {
  require_linear(sums_of_parameters);
  PrepareOptions options;
  options.last_layers = 3;
  require_linear(sums_of_parameters, options);
}

TEST_CASE("weights in Constant nodes and branches cost the same where there are more") {
  require_linear(constants_and_branches);
}

TEST_CASE("repeated parameters cost the same where there are more") { require_linear(identities); }

TEST_CASE("layers with a training mode cost the same where there are more") {
  require_linear(normalizations);
}

TEST_CASE("layers that are quantized cost the same where there are more") {
  PrepareOptions options;
  options.qat = DType::int8;
  require_linear(products, options);
}

TEST_CASE(
    "layers whose rates differ and of which the last train cost the same where there are more") {
  PrepareOptions options;
  options.last_layers = 100;
  options.train = {"w*"};
  require_linear(products, options);
}

TEST_CASE("branches in branches cost their number, not a power of it") {
  const double few = allocations_of_nested(4);
  const double many = allocations_of_nested(24);
  CHECK(many < 12 * few);
}
