// Quantization in front of the nodes that only move elements.
#include "graph/training/quantize/hoist_quantization.h"

#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

// Relu, these nodes and QuantizeLinear of the last one's output, with one scale.
ModelDef quantized(std::vector<NodeDef> moving, const std::string& last) {
  ModelDef model;
  model.graph.inputs = {value("x")};
  model.graph.initializers = {{"scale", Tensor::scalar(0.5F), {}, {}}, initializer("many", {1, 2})};
  model.graph.nodes = {node("Relu", {"x"}, {"r"})};
  for (NodeDef& one : moving) model.graph.nodes.push_back(std::move(one));
  model.graph.nodes.push_back(node("QuantizeLinear", {last, "scale"}, {"q"}));
  model.graph.nodes.push_back(node("DequantizeLinear", {"q", "scale"}, {"y"}));
  model.graph.outputs = {value("y")};
  return model;
}

// The nodes with their first inputs and outputs.
std::string text_of(const ModelDef& model) {
  std::string text;
  for (const NodeDef& one : model.graph.nodes) {
    text += one.op + " " + one.inputs[0] + " -> " + one.outputs[0] + "; ";
  }
  return text;
}

void check_unchanged(ModelDef model) {
  const std::string before = text_of(model);
  hoist_quantization(model);
  CHECK(text_of(model) == before);
}

}  // namespace

TEST_CASE("quantization moves in front of every node that only moves elements") {
  for (const char* op :
       {"MaxPool", "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity"}) {
    ModelDef model = quantized({node(op, {"r"}, {"m"})}, "m");
    hoist_quantization(model);
    CHECK(text_of(model) == "Relu x -> r; QuantizeLinear r -> r.quantized; " + std::string(op) +
                                " r.quantized -> q; DequantizeLinear q -> y; ");
  }
}

TEST_CASE("quantization moves in front of a chain, whose inner values are declared no more") {
  ModelDef model = quantized({node("MaxPool", {"r"}, {"m"}), node("Flatten", {"m"}, {"f"})}, "f");
  model.graph.value_infos = {value("r"), value("m"), value("f"), value("q")};
  hoist_quantization(model);
  CHECK(text_of(model) ==
        "Relu x -> r; QuantizeLinear r -> r.quantized; MaxPool r.quantized -> m.quantized; "
        "Flatten m.quantized -> q; DequantizeLinear q -> y; ");
  REQUIRE(model.graph.value_infos.size() == 2);
  CHECK(model.graph.value_infos[0].name == "r");
  CHECK(model.graph.value_infos[1].name == "q");
}

TEST_CASE("quantization stays after what computes, what others read and what has many scales") {
  check_unchanged(quantized({node("Exp", {"r"}, {"m"})}, "m"));
  check_unchanged(quantized({node("Flatten", {"r"}, {"m"}, {}, "org.example")}, "m"));
  check_unchanged(quantized({node("MaxPool", {"r"}, {"m", "indices"})}, "m"));
  check_unchanged(quantized({}, "x"));
  ModelDef model = quantized({node("Flatten", {"r"}, {"m"})}, "m");
  model.graph.nodes.push_back(node("Abs", {"m"}, {"z"}));
  check_unchanged(model);
  model = quantized({node("Flatten", {"r"}, {"m"})}, "m");
  model.graph.outputs.push_back(value("m"));
  check_unchanged(model);
  model = quantized({node("Flatten", {"r"}, {"m"})}, "m");
  model.graph.nodes[2].inputs[1] = "many";
  check_unchanged(model);
  model.graph.nodes[2].inputs[1] = "r";  // computed
  check_unchanged(model);
}

TEST_CASE("each of two quantizations moves to its own place") {
  ModelDef model = quantized({node("Flatten", {"r"}, {"m"})}, "m");
  model.graph.nodes.push_back(node("Transpose", {"y"}, {"t"}));
  model.graph.nodes.push_back(node("QuantizeLinear", {"t", "scale"}, {"u"}));
  model.graph.outputs = {value("u")};
  hoist_quantization(model);
  CHECK(text_of(model) ==
        "Relu x -> r; QuantizeLinear r -> r.quantized; Flatten r.quantized -> q; "
        "DequantizeLinear q -> y; QuantizeLinear y -> y.quantized; Transpose y.quantized -> u; ");
}
