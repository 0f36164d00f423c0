#include "graph/training/prepare/exporter/zero_biases.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/training/prepare/values.h"
#include "tests/graph/training/exported_network.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

ModelDef two_layers() {
  ModelDef model = exported();
  add_parameter(model, "a.weight", {6, 4}, 0.5F);
  add_parameter(model, "b.weight", {6, 4}, 0.5F);
  list(model, {"a.weight", "a.bias", "b.weight"});
  then(model, "Gemm", {"a.weight"}, "a");
  model.graph.nodes.back().attributes = {{"beta", 1.0F}, {"transB", std::int64_t{1}}};
  then(model, "Gemm", {"b.weight"}, "b", true);
  return model;
}

}  // namespace

TEST_CASE("a bias of zeros that was left out trains again") {
  ModelDef model = two_layers();
  const PrepareReport report = prepared(model, false);
  CHECK(model.graph.nodes[0].inputs[2] == "a.bias");
  CHECK(model.graph.nodes[1].inputs.size() == 2);  // a layer without a bias
  CHECK(report.trained == std::vector<std::string>{"a.weight", "b.weight", "a.bias"});
  const auto bias = std::find_if(model.graph.initializers.begin(), model.graph.initializers.end(),
                                 [](const auto& one) { return one.name == "a.bias"; });
  REQUIRE(bias != model.graph.initializers.end());
  CHECK(bias->value.shape() == Shape{6});
  CHECK(all_equal(bias->value));
  CHECK_THAT(text_of(report.notes), Catch::Contains("'a.bias'"));
  require_single_assignment(model);
}

TEST_CASE("convolutions get a bias for each of their channels") {
  ModelDef model = exported();
  add_parameter(model, "a.weight", {6, 2, 3}, 0.5F);
  add_parameter(model, "b.weight", {6, 2, 3}, 0.5F);
  list(model, {"a.weight", "a.bias", "b.weight", "b.bias"});
  then(model, "Conv", {"a.weight"}, "a");
  then(model, "ConvTranspose", {"b.weight"}, "b");
  model.graph.nodes.back().attributes = {{"group", std::int64_t{3}}};
  then(model, "ConvTranspose", {"b.weight", ""}, "b", true);
  model.graph.nodes.back().attributes = {{"group", std::int64_t{3}}};
  CHECK(restore_zero_biases(model).names == std::vector<std::string>{"a.bias", "b.bias"});
  REQUIRE(model.graph.initializers.size() == 4);
  CHECK(model.graph.initializers[2].value.shape() == Shape{6});
  CHECK(model.graph.initializers[3].value.shape() == Shape{6});
  CHECK(model.graph.nodes[2].inputs == std::vector<std::string>{"v1", "b.weight", "b.bias"});
}

TEST_CASE("a name that the graph uses for something else is left alone") {
  ModelDef model = two_layers();
  model.graph.nodes[0].outputs[0] = "a.bias";
  model.graph.nodes[1].inputs[0] = "a.bias";
  CHECK(restore_zero_biases(model).names.empty());
  prepared(model, true);
  require_single_assignment(model);
}

TEST_CASE("a Gemm that scales its last input gets no bias") {
  ModelDef model = two_layers();
  model.graph.nodes[0].attributes[0] = {"beta", 0.5F};
  CHECK(restore_zero_biases(model).names.empty());
}
