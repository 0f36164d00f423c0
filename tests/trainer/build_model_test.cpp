#include <ondine/build.h>
#include <ondine/model.h>

#include <catch2/catch.hpp>

#include "proto/import.h"

using namespace ondine;

TEST_CASE("a built model is read back as it was written") {
  ModelBuilder builder("small", 13);
  const auto x = builder.input("x", DType::float32, {"N", 4});
  const auto w = builder.initializer("w", Tensor(DType::float32, {4, 2}));
  const auto product = builder.node("MatMul", {x, w});
  builder.node("Softmax", {product}, {{"axis", std::int64_t{1}}}, "y");
  builder.node("Gradient", "ai.onnx.preview.training", {w}, {"g"},
               {{"xs", std::vector<std::string>{"w"}}, {"y", std::string("y")}});
  builder.output("y", DType::float32, {"N", 2});

  const graph::ModelDef model = load_model(builder.bytes());
  CHECK(model.graph.name == "small");
  REQUIRE(model.opsets.size() == 2);
  CHECK(model.opsets[0].version == 13);
  CHECK(model.opsets[1].domain == "ai.onnx.preview.training");
  REQUIRE(model.graph.nodes.size() == 3);
  CHECK(model.graph.nodes[1].outputs == std::vector<std::string>{"y"});
  CHECK(std::get<std::int64_t>(find(model.graph.nodes[1].attributes, "axis")->data) == 1);
  CHECK(model.graph.inputs.at(0).type.dims ==
        std::vector<graph::DimDef>{std::string("N"), std::int64_t{4}});
  CHECK(model.graph.initializers.at(0).value.shape() == Shape{4, 2});
}

TEST_CASE("a node that cannot be computed is one line of the error, whatever reads its output") {
  ModelBuilder builder("broken", 13);
  const auto x = builder.input("x", DType::float32, {"N", 4});
  const auto w = builder.initializer("w", Tensor(DType::float32, {3}));
  const auto sum = builder.node("Add", {x, w}, {}, "sum");
  builder.node("Relu", {sum}, {}, "y");
  builder.output("y", DType::float32, {"N", 4});
  builder.output("sum", DType::float32, {"N", 4});
  std::string message;
  try {
    Model::load(builder.bytes());
  } catch (const Error& error) {
    message = error.message();
  }
  CHECK(message == "shapes [N, 4] and [3] do not broadcast: dims 4 and 3, in node 'sum' (Add-13)");
}
