// Which implementation the operators RNN, GRU and LSTM, and their derivatives, choose.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/op_harness.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

constexpr std::int64_t steps = 3;

struct Layer {
  std::string op = "LSTM";
  std::int64_t batch = 8;
  std::int64_t input = 2;
  std::int64_t hidden = 3;
  bool lengths = false;
  bool peepholes = false;
  ModelBuilder::Attributes attributes = {};
};

// y = the layer over x, summed over the hidden values for `classes` of 2.
ModelBuilder network(const Layer& layer) {
  const std::int64_t gates = layer.op == "LSTM" ? 4 : layer.op == "GRU" ? 3 : 1;
  const std::int64_t hidden = layer.hidden;
  ModelBuilder b("network");
  std::vector<std::string> inputs{
      b.input("x", DType::float32, {steps, layer.batch, layer.input}),
      b.initializer("w", random_floats({1, gates * hidden, layer.input}, 1)),
      b.initializer("r", random_floats({1, gates * hidden, hidden}, 2))};
  if (layer.lengths || layer.peepholes) inputs.resize(5);
  if (layer.lengths) {
    const std::vector<std::int32_t> lengths(static_cast<std::size_t>(layer.batch), 2);
    inputs[4] = b.initializer("lengths", Tensor::of<std::int32_t>({layer.batch}, lengths));
  }
  if (layer.peepholes) {
    inputs.resize(8);
    inputs[7] = b.initializer("p", random_floats({1, 3 * hidden}, 3));
  }
  auto attributes = layer.attributes;
  attributes.emplace_back("hidden_size", hidden);
  b.node(layer.op, "", inputs, {"all", "last"}, attributes);
  b.initializer("v", random_floats({hidden, 2}, 4));
  b.node("Squeeze", "", {"last", b.initializer("axis", Tensor::of<std::int64_t>({1}, {0}))},
         {"state"});
  b.node("MatMul", "", {"state", "v"}, {"y"});
  b.output("y", DType::float32, {layer.batch, 2});
  return b;
}

std::string implementation_of(const PlanReport& report, const std::string& op) {
  for (const PlannedOperator& node : report.nodes) {
    if (node.op == op) return node.implementation;
  }
  return "no " + op;
}

std::string forward(const Layer& layer) {
  const Model model = Model::load(network(layer).bytes());
  PlanRequest request;
  request.shapes.emplace_back("x", Shape{steps, layer.batch, layer.input});
  return implementation_of(model.plan_report(request), layer.op);
}

std::string backward(const Layer& layer) {
  const TemporaryFolder dir;
  const auto file = dir / "network.onnx";
  network(layer).save(file);
  prepare(file, file, {.train = {"w", "r"}});
  const Model model = Model::load(file);
  PlanRequest request;
  request.algorithm = 0;
  request.shapes.emplace_back("x", Shape{steps, layer.batch, layer.input});
  request.shapes.emplace_back("label", Shape{layer.batch});
  return implementation_of(model.plan_report(request), layer.op + "Grad");
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("RNN and GRU, and their derivatives, have the general implementation") {
  for (const char* op : {"RNN", "GRU"}) {
    CAPTURE(op);
    CHECK(forward({.op = op}) == "general");
    CHECK(backward({.op = op}) == "general");
  }
}

TEST_CASE("a standard LSTM whose weights fit the cache is fused for batches of 4 and more") {
  CHECK(forward({}) == "fused");
  CHECK(forward({.batch = 4}) == "fused");
  CHECK(forward({.batch = 3}) == "standard");
  CHECK(forward({.batch = 1}) == "standard");
}

TEST_CASE("an LSTM with lengths or with weights that do not fit the cache is not fused") {
  CHECK(forward({.lengths = true}) == "standard");
  CHECK(forward({.input = 256, .hidden = 256}) == "fused");
  CHECK(forward({.input = 257, .hidden = 256}) == "standard");
  CHECK(forward({.hidden = 257}) == "standard");
}

TEST_CASE("an LSTM with another cell has the general implementation") {
  std::vector<Layer> layers(4);
  layers[0].peepholes = true;
  layers[1].attributes = {{"input_forget", std::int64_t{1}}};
  layers[2].attributes = {{"clip", 1.0F}};
  layers[3].attributes = {{"activations", Strings{"HardSigmoid", "Tanh", "Tanh"}}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CAPTURE(i);
    CHECK(forward(layers[i]) == "general");
    CHECK(backward(layers[i]) == "general");
  }
}

TEST_CASE("the derivative of a standard LSTM has the standard implementation") {
  CHECK(backward({}) == "standard");
  CHECK(backward({.batch = 1}) == "standard");
  CHECK(backward({.lengths = true}) == "standard");
}

}  // namespace ondine::test
