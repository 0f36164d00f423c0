#include "graph/training/prepare/exporter/lost.h"

#include <catch2/catch.hpp>

#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

// Two linear layers as PyTorch's exporters write them.
ModelDef two_layers(const std::string& first_weight, const std::string& second_weight) {
  ModelDef model;
  model.opsets = {{"", 17}};
  model.producer_name = "pytorch";
  weight(model, first_weight, {4, 4});
  if (second_weight != first_weight) weight(model, second_weight, {4, 4});
  weight(model, "net.0.bias", {4});
  weight(model, "net.2.bias", {4});
  GraphDef& graph = model.graph;
  graph.inputs = {value("x", {std::string("N"), std::int64_t{4}})};
  graph.outputs = {value("y", {std::string("N"), std::int64_t{4}})};
  graph.nodes = {named_node("MatMul", {"x", first_weight}, {"a"}),
                 named_node("Add", {"a", "net.0.bias"}, {"b"}), named_node("Relu", {"b"}, {"c"}),
                 named_node("Gemm", {"c", second_weight, "net.2.bias"}, {"y"})};
  graph.nodes[0].name = "/net/net.0/MatMul";
  graph.nodes[1].name = "/net/net.0/Add";
  graph.nodes[3].name = "/net/net.2/Gemm";
  return model;
}

std::string text_of(const ModelDef& model) {
  std::string text;
  for (const std::string& note : lost_parameters(model)) text += note + "\n";
  return text;
}

}  // namespace

TEST_CASE("nothing is said of files that keep every parameter") {
  CHECK(text_of(two_layers("net.0.weight", "net.2.weight")).empty());
  CHECK(text_of(network()).empty());
  // A parameter of the module around a layer.
  CHECK(text_of(two_layers("net.weight", "net.2.weight")).empty());
}

TEST_CASE("transposed and merged parameters are named with their modules") {
  const std::string renamed = text_of(two_layers("onnx::MatMul_12", "net.2.weight"));
  CHECK_THAT(renamed, Catch::Contains("'net.0' ('onnx::MatMul_12')") &&
                          Catch::Contains("optimize=False") && !Catch::Contains("net.2"));
  const std::string merged = text_of(two_layers("net.0.weight", "net.0.weight"));
  // No setting of the exporter parts a tensor that is one.
  CHECK_THAT(merged, Catch::Contains("'net.2' ('net.0.weight')") &&
                         !Catch::Contains("do_constant_folding=False"));
}

TEST_CASE("biases that the optimizer left out are missed") {
  ModelDef model = two_layers("net.0.weight", "net.2.weight");
  const char* key = "pkg.torch.onnx.name_scopes";
  model.graph.nodes[0].metadata = {{key, "['', 'net', 'net.0', 'linear']"}};
  model.graph.nodes[1].metadata = {{key, "['', 'net', 'net.0', 'linear']"}};
  model.graph.nodes[3].metadata = {{key, "['', 'net', 'net.2', 'linear_1']"}};
  CHECK(text_of(model).empty());
  model.graph.nodes[3].inputs.pop_back();
  CHECK(text_of(model).empty());  // never had one, as far as the file says
  model.graph.nodes[2].metadata = {{"pkg.onnxscript.rewriter.rule_name", "any"}};
  CHECK_THAT(text_of(model), Catch::Contains("without a bias") && Catch::Contains("'net.2'") &&
                                 !Catch::Contains("'net.0'"));
  PrepareOptions options;
  options.loss = Loss::mse;
  CHECK(prepare(model, options).notes.size() == 2);
}
