// Networks as PyTorch's TorchScript exporter writes them.
#include "graph/training/prepare/exporter/traced.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/training/prepare/exporter/lost.h"
#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/exported_network.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using Texts = std::vector<std::string>;

// Different elements, or one number.
Tensor elements(const Shape& shape, bool varied, float first = 0) {
  Tensor tensor(DType::float32, shape);
  const auto values = tensor.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = varied ? 0.125F + static_cast<float>(i * i % 7) : first;
  }
  return tensor;
}

void add(ModelDef& model, const std::string& name, Tensor value) {
  InitializerDef& one = model.graph.initializers.emplace_back();
  one.name = name;
  one.value = std::move(value);
}

// The exporter writes `own` as a repetition of `kept`.
void repeat(ModelDef& model, const std::string& kept, const std::string& own) {
  NodeDef node = named_node("Identity", {kept}, {own});
  node.name = "Identity_" + std::to_string(model.graph.nodes.size());
  model.graph.nodes.insert(model.graph.nodes.begin(), std::move(node));
}

// Appends a node of a module that reads what the last layer gave, or x.
void layer(ModelDef& model, const std::string& op, const Texts& others, const std::string& path,
           bool last = false) {
  then(model, op, others, "", last);
  NodeDef& node = model.graph.nodes.back();
  if (node.inputs[0] != "x") {
    const NodeDef& before = model.graph.nodes[model.graph.nodes.size() - 2];
    node.inputs[0] = before.name.starts_with("Identity_") ? "x" : before.outputs[0];
  }
  node.metadata.clear();
  node.name = "/" + path + "/" + op;
}

// Two blocks of LayerNormalization and Gemm, whose scales and biases are the first scale and bias.
ModelDef fresh_blocks() {
  ModelDef model = exported();
  add(model, "0.n.weight", elements({4}, false, 1));
  add(model, "0.n.bias", elements({4}, false));
  add(model, "0.l.weight", elements({4, 4}, true));
  add(model, "1.l.weight", elements({4, 4}, true));
  for (const char* own : {"0.l.bias", "1.n.bias", "1.l.bias"}) repeat(model, "0.n.bias", own);
  repeat(model, "0.n.weight", "1.n.weight");
  layer(model, "LayerNormalization", {"0.n.weight", "0.n.bias"}, "0/n");
  layer(model, "Gemm", {"0.l.weight", "0.l.bias"}, "0/l");
  layer(model, "LayerNormalization", {"1.n.weight", "1.n.bias"}, "1/n");
  layer(model, "Gemm", {"1.l.weight", "1.l.bias"}, "1/l", true);
  return model;
}

Texts sorted(Texts names) {
  std::sort(names.begin(), names.end());
  return names;
}

PrepareReport trained_by(ModelDef model, bool untie = false, bool tie = false) {
  PrepareOptions options;
  options.loss = Loss::mse;
  options.untie = untie;
  options.tie = tie;
  PrepareReport report = prepare(model, options);
  require_single_assignment(model);
  return report;
}

bool trains(const PrepareReport& report, const std::string& name) {
  return std::count(report.trained.begin(), report.trained.end(), name) == 1;
}

}  // namespace

TEST_CASE("initial zeros and ones that the TorchScript exporter merged train apart") {
  const bool untie = GENERATE(false, true);
  const PrepareReport report = trained_by(fresh_blocks(), untie);
  CHECK(sorted(report.trained) == Texts{"0.l.bias", "0.l.weight", "0.n.bias", "0.n.weight",
                                        "1.l.bias", "1.l.weight", "1.n.bias", "1.n.weight"});
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0], Catch::Contains("separate again") &&
                                  Catch::Contains("'1.n.weight' ('0.n.weight')") &&
                                  Catch::Contains("'0.l.bias' ('0.n.bias')"));
}

TEST_CASE("merged parameters train as one where that is asked for, and a note says so") {
  const PrepareReport report = trained_by(fresh_blocks(), false, true);
  CHECK(report.trained == Texts{"0.n.weight", "0.n.bias", "0.l.weight", "1.l.weight"});
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0],
             Catch::Contains("train as one") && Catch::Contains("'1.n.weight' ('0.n.weight')"));
  PrepareOptions options;
  options.tie = options.untie = true;
  ModelDef model = fresh_blocks();
  CHECK_THROWS_WITH(prepare(model, options), Catch::Contains("exclude each other"));
}

TEST_CASE("an embedding and a head of equal elements stay tied unless they are untied") {
  ModelDef model = exported();
  model.graph.inputs = {value("x", {std::string("N")}, DType::int64)};
  add(model, "wte.weight", elements({4, 4}, true));
  repeat(model, "wte.weight", "head.weight");
  model.graph.nodes.push_back(named_node("Gather", {"wte.weight", "x"}, {"h"}));
  model.graph.nodes.back().name = "/wte/Gather";
  model.graph.nodes.push_back(named_node("Transpose", {"head.weight"}, {"turned"}));
  model.graph.nodes.back().name = "/head/Transpose";
  model.graph.nodes.push_back(named_node("MatMul", {"h", "turned"}, {"y"}));
  model.graph.nodes.back().name = "/head/MatMul";
  const PrepareReport report = trained_by(model);
  CHECK(report.trained == Texts{"wte.weight"});
  CHECK_THAT(text_of(report.notes),
             Catch::Contains("'head.weight' ('wte.weight')") && Catch::Contains("--untie"));
  const PrepareReport apart = trained_by(model, true);
  CHECK(apart.trained == Texts{"wte.weight", "head.weight"});
  CHECK_THAT(text_of(apart.notes), !Catch::Contains("train as one"));
}

TEST_CASE("copies of a layer that a list has are apart, whatever their elements") {
  ModelDef model = exported();
  add(model, "layers.0.fc.weight", elements({4, 4}, true));
  add(model, "onnx::MatMul_7", elements({4, 4}, true));
  repeat(model, "layers.0.fc.weight", "layers.1.fc.weight");
  repeat(model, "onnx::MatMul_7", "onnx::MatMul_8");
  layer(model, "Gemm", {"layers.0.fc.weight"}, "layers.0/fc");
  layer(model, "MatMul", {"onnx::MatMul_7"}, "layers.0/out");
  layer(model, "Gemm", {"layers.1.fc.weight"}, "layers.1/fc");
  layer(model, "MatMul", {"onnx::MatMul_8"}, "layers.1/out", true);
  CHECK(trained_by(model).trained.size() == 4);
  CHECK_THAT(text_of(trained_by(model).notes),
             Catch::Contains("one of 'layers.1.out' ('onnx::MatMul_7')"));
  // The exporter writes the transposed weight of a module twice if the module runs twice.
  for (NodeDef& node : model.graph.nodes) {
    if (node.name == "/layers.1/out/MatMul") node.name = "/layers.0/out_1/MatMul";
  }
  const PrepareReport shared = trained_by(model);
  CHECK(shared.trained.size() == 3);
  CHECK_FALSE(trains(shared, "onnx::MatMul_8"));
  // Nodes of different modules do not tell whether they share a weight.
  for (NodeDef& node : model.graph.nodes) {
    if (node.name == "/layers.0/out_1/MatMul") node.name = "/head/MatMul";
  }
  CHECK_FALSE(trains(trained_by(model), "onnx::MatMul_8"));
  CHECK_THAT(text_of(trained_by(model).notes),
             Catch::Contains("train as one") && Catch::Contains("one of 'head'"));
  CHECK(trains(trained_by(model, true), "onnx::MatMul_8"));
}

TEST_CASE("running statistics that were merged are always apart") {
  ModelDef model = exported();
  for (const char* name : {"0.weight", "0.running_var"}) add(model, name, elements({4}, false, 1));
  add(model, "0.bias", elements({4}, false));
  add(model, "1.weight", elements({4}, true));
  repeat(model, "0.bias", "0.running_mean");
  repeat(model, "0.bias", "1.bias");
  layer(model, "BatchNormalization", {"0.weight", "0.bias", "0.running_mean", "0.running_var"},
        "0");
  layer(model, "Mul", {"1.weight"}, "1");
  layer(model, "Add", {"1.bias"}, "1", true);
  PrepareOptions options;
  options.loss = Loss::mse;
  options.tie = true;
  const PrepareReport report = prepare(model, options);
  CHECK(keys(model.training[0].update_binding).contains("0.running_mean"));
  CHECK_FALSE(trains(report, "0.running_mean"));
  CHECK_FALSE(trains(report, "1.bias"));
}

TEST_CASE("without Identity nodes initial biases that another module reads are apart") {
  ModelDef model = fresh_blocks();
  std::erase_if(model.graph.nodes, [](const NodeDef& node) { return node.op == "Identity"; });
  for (NodeDef& node : model.graph.nodes) {
    for (std::string& input : node.inputs) {
      if (input.ends_with(".bias")) input = "0.n.bias";
      if (input.ends_with("n.weight")) input = "0.n.weight";
    }
  }
  CHECK(sorted(trained_by(model).trained) == Texts{"0.l.bias", "0.l.weight", "0.n.bias",
                                                   "0.n.weight", "1.l.bias", "1.l.weight",
                                                   "1.n.bias", "1.n.weight"});
  CHECK(trained_by(model, false, true).trained.size() == 4);
  // One with different elements is tied.
  model.graph.initializers[1].value = elements({4}, true);
  CHECK(trained_by(model).trained.size() == 5);
}

TEST_CASE("files of other exporters keep what an Identity repeats") {
  ModelDef model = fresh_blocks();
  model.producer_name = "other";
  CHECK(trained_by(model).trained.size() == 4);
  CHECK(trained_by(model, true).trained.size() == 8);
}
