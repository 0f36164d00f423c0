// The written form of CTC.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

// y = x w, scores of 5 classes for each step.
ModelDef scores(DType dtype, std::int64_t opset = 17) {
  ModelDef model;
  model.ir_version = 7;
  model.opsets = {{"", opset}};
  model.graph.name = "scores";
  model.graph.inputs = {value("x", {std::string("N"), std::string("T"), std::int64_t{4}}, dtype)};
  model.graph.outputs = {value("y", {std::string("N"), std::string("T"), std::int64_t{5}}, dtype)};
  weight(model, "w", {4, 5});
  model.graph.initializers[0].value = Tensor(dtype, {4, 5});
  model.graph.nodes = {named_node("MatMul", {"x", "w"}, {"y"})};
  return model;
}

}  // namespace

TEST_CASE("CTC reads labels and lengths, and its steps have the types of the scores") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    ModelDef model = scores(dtype);
    prepare(model, {.loss = Loss::ctc, .label = "text"});
    const GraphDef& step = *model.training[0].algorithm;
    std::vector<std::string> labels;
    for (const ValueDef& input : step.inputs) {
      if (input.type.dtype == DType::int64) labels.push_back(input.name);
    }
    CHECK(labels == std::vector<std::string>{"text", "text_lengths", "text_input_lengths"});
    CHECK(step.inputs[0].type.dims == std::vector<DimDef>{std::string("N"), std::monostate()});
    CHECK(step.inputs[1].type.dims == std::vector<DimDef>{std::string("N")});
    CHECK(step.inputs[2].type.dims == std::vector<DimDef>{std::string("N")});
    const NodeDef* scan = find_op(step, "Scan");
    REQUIRE(scan != nullptr);
    const auto& body =
        *std::get<std::shared_ptr<const GraphDef>>(find(scan->attributes, "body")->data);
    REQUIRE(body.inputs.size() == 3);
    CHECK(body.inputs[0].type.dtype == dtype);
    CHECK(body.inputs[1].type.dtype == dtype);
    CHECK(body.inputs[2].type.dtype == DType::boolean);
    for (const ValueDef& input : body.inputs) CHECK(input.type.kind == TypeKind::tensor);
    REQUIRE(body.outputs.size() == 1);
    CHECK(body.outputs[0].type.dtype == dtype);
  }
}

TEST_CASE("CTC needs an operator set with Scan along any axis, and a blank among the classes") {
  const auto refusal = [](std::int64_t opset, std::int64_t blank) -> std::string {
    ModelDef model = scores(DType::float32, opset);
    try {
      prepare(model, {.loss = Loss::ctc, .ctc_blank = blank});
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  CHECK(refusal(12, 4).empty());
  CHECK(refusal(11, 0).empty());
  CHECK_THAT(refusal(10, 0), Catch::Contains("CTC needs ai.onnx 11, the model imports ai.onnx 10"));
  CHECK_THAT(refusal(12, 5), Catch::Contains("the CTC blank 5 is none of the 5 classes of 'y'"));
}
