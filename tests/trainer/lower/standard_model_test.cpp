// Contents of a lowered model beside the derivatives.
#include "trainer/lower/standard_model.h"

#include <catch2/catch.hpp>

#include "proto/import.h"
#include "tests/support/models.h"
#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

NamedValues feeds() { return {{"x", random_floats({3, 2}, 1)}, {"t", random_floats({3, 1}, 2)}}; }

}  // namespace

TEST_CASE("a step is lowered to the version of the standard that is asked for") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  for (const std::int64_t opset : {18, 20, 23}) {
    const LowerReport report = check_lowered(model, feeds(), {.opset = opset});
    CHECK(report.opset == opset);
    CHECK(load_model(lower(model, {.opset = opset})).opsets.at(0).version == opset);
  }
  CHECK_THROWS_WITH(lower(model, {.opset = 17}), Catch::Contains("version 17"));
  CHECK_THROWS_WITH(lower(model, {.opset = 1000}), Catch::Contains("version 1000"));
}

TEST_CASE("a lowered model says where its source came from") {
  graph::ModelDef source = linear_regression(0.1F);
  source.producer_name = "exporter";
  source.producer_version = "1.2";
  source.domain = "org.example";
  source.model_version = 7;
  source.doc = "of a line";
  source.metadata = {{"author", "somebody"}};
  Model model = Model::load(encode(source));
  const graph::ModelDef lowered = load_model(lower(model, {.opset = 21}));
  CHECK(lowered.producer_name == "exporter");
  CHECK(lowered.producer_version == "1.2");
  CHECK(lowered.domain == "org.example");
  CHECK(lowered.model_version == 7);
  CHECK(lowered.doc == "of a line");
  CHECK(lowered.metadata.at(0) == std::pair<std::string, std::string>("author", "somebody"));
  CHECK(lowered.ir_version == 10);
  REQUIRE(lowered.opsets.size() == 1);
  CHECK(lowered.opsets[0].domain.empty());
}

TEST_CASE("a lowered step imports the operators of ai.onnx.ml where it has some") {
  graph::ModelDef source = linear_regression(0.1F);
  source.opsets.push_back({"ai.onnx.ml", 3});
  source.graph.nodes.insert(source.graph.nodes.begin(),
                            node("LabelEncoder", {"x"}, {"encoded"},
                                 {{"keys_floats", std::vector<float>{1, 2}},
                                  {"values_floats", std::vector<float>{-1, 0.5F}},
                                  {"default_float", 0.25F}},
                                 "ai.onnx.ml"));
  source.graph.nodes[1].inputs[0] = "encoded";
  Model model = Model::load(encode(source));
  const auto imports = load_model(lower(model)).opsets;
  REQUIRE(imports.size() == 2);
  CHECK(imports[1].domain == "ai.onnx.ml");
  CHECK(imports[1].version == 3);
  check_lowered(model, {{"x", Tensor::of<float>({3, 2}, {1, 2, 3, 1, 2, 2})},
                        {"t", random_floats({3, 1}, 2)}});
}

TEST_CASE("copies of a random node in a lowered step draw the same numbers") {
  graph::ModelDef source = linear_regression(0.1F);
  auto& nodes = source.graph.nodes;
  nodes.insert(nodes.begin() + 1, {node("RandomUniformLike", {"xw"}, {"noise"}),
                                   node("Add", {"xw", "noise"}, {"moved"})});
  nodes[3].inputs[0] = "moved";
  // The derivative is taken at another place than the loss: the network is computed twice.
  auto& steps = source.training[0].algorithm->nodes;
  steps[3].inputs[0] = "w2";
  steps.insert(steps.begin(), node("Add", {"w", "w"}, {"w2"}));
  Model model = Model::load(encode(source));
  std::vector<float> seeds;
  for (const graph::NodeDef& one : load_model(lower(model)).graph.nodes) {
    if (one.op != "RandomUniformLike") continue;
    const graph::Attribute* seed = graph::find(one.attributes, "seed");
    REQUIRE(seed != nullptr);
    seeds.push_back(std::get<float>(seed->data));
  }
  REQUIRE(seeds.size() == 2);
  CHECK(seeds[0] == seeds[1]);
}

TEST_CASE("a lowered step computes large constants instead of holding their elements") {
  graph::ModelDef source = linear_regression(0.1F);
  source.graph.initializers.push_back({"one", Tensor::scalar(1.0F), "", {}});
  source.graph.initializers.push_back({"size", Tensor::of<std::int64_t>({1}, {1 << 19}), "", {}});
  auto& nodes = source.graph.nodes;
  nodes.pop_back();
  nodes.insert(nodes.end(),
               {node("Expand", {"one", "size"}, {"ones"}), node("Mul", {"ones", "b"}, {"many"}),
                node("ReduceMean", {"many"}, {"mean"}, {{"keepdims", 0L}}),
                node("Add", {"xw", "mean"}, {"y"})});
  Model model = Model::load(encode(source));
  CHECK(lower(model).size() < 1 << 20);
  check_lowered(model, feeds());
}
