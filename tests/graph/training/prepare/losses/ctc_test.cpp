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

TEST_CASE("CTC says how it reads the logits, and refuses steps before the batch") {
  const auto outcome = [](std::vector<DimDef> input, std::vector<DimDef> output,
                          Loss loss = Loss::ctc) -> std::string {
    ModelDef model = scores(DType::float32);
    model.graph.inputs[0].type.dims = std::move(input);
    model.graph.outputs[0].type.dims = std::move(output);
    try {
      return prepare(model, {.loss = loss}).prediction_reason;
    } catch (const Error& error) {
      return error.what();
    }
  };
  const DimDef n = std::string("N");
  const DimDef t = std::string("T");
  const DimDef batch = std::string("my_batch");
  const DimDef any = std::monostate();
  const auto size = [](std::int64_t value) { return DimDef(value); };
  const auto refused = [](const std::string& name, const std::string& first) {
    return Catch::Contains("the batch of output 'y', " + name + ", is axis 1 and axis 0 is " +
                           first + "; CTC needs [batch, steps, classes]");
  };
  const auto read = Catch::EndsWith(", read as [batch, steps, classes]");
  CHECK_THAT(outcome({n, t, size(4)}, {n, t, size(5)}), read);
  // The name of the inputs' first axis tells the batch.
  CHECK_THAT(outcome({n, size(20), size(4)}, {size(20), n, size(5)}), refused("'N'", "20"));
  CHECK_THAT(outcome({n, t, size(4)}, {t, n, size(5)}), refused("'N'", "'T'"));
  CHECK_THAT(outcome({n, t, size(4)}, {any, n, size(5)}), refused("'N'", "?"));
  // The size of that axis tells it if there are no names.
  CHECK_THAT(outcome({size(1), size(20), size(4)}, {size(20), size(1), size(5)}),
             refused("1", "20"));
  CHECK_THAT(outcome({size(1), size(20), size(4)}, {size(1), size(20), size(5)}), read);
  CHECK_THAT(outcome({size(6), size(6), size(4)}, {size(6), size(6), size(5)}), read);
  // A name that speaks of a batch tells more than the place of the axis.
  CHECK_THAT(outcome({t, batch, size(4)}, {t, batch, size(5)}), refused("'my_batch'", "'T'"));
  CHECK_THAT(outcome({t, batch, size(4)}, {batch, t, size(5)}), read);
  // Nothing tells the batch.
  CHECK_THAT(outcome({any, any, size(4)}, {any, any, size(5)}), read);
}

TEST_CASE("other losses need the batch first where they count examples, and else say where it is") {
  const auto outcome = [](std::vector<DimDef> output, Loss loss) -> std::string {
    ModelDef model = scores(DType::float32);
    model.graph.inputs[0].type.dims = {std::string("N"), std::int64_t{20}, std::int64_t{4}};
    model.graph.outputs[0].type.dims = std::move(output);
    try {
      return prepare(model, {.loss = loss}).prediction_reason;
    } catch (const Error& error) {
      return error.what();
    }
  };
  const std::vector<DimDef> turned{std::int64_t{20}, std::string("N"), std::int64_t{5}};
  const std::vector<DimDef> right{std::string("N"), std::int64_t{20}, std::int64_t{5}};
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::huber, Loss::bce_with_logits, Loss::hinge,
                          Loss::cosine, Loss::softmax_cross_entropy, Loss::focal}) {
    CAPTURE(static_cast<int>(loss));
    CHECK_THAT(outcome(turned, loss),
               Catch::Contains("its batch 'N' is axis 1, as in the labels then"));
    CHECK_THAT(outcome(right, loss), !Catch::Contains("batch"));
  }
  for (const Loss loss : {Loss::kl, Loss::dice}) {
    CAPTURE(static_cast<int>(loss));
    CHECK_THAT(outcome(turned, loss), Catch::Contains("the batch of output 'y', 'N', is axis 1") &&
                                          Catch::Contains("needs the batch on axis 0"));
    CHECK_THAT(outcome(right, loss), !Catch::Contains("batch"));
  }
  const std::vector<DimDef> pair{std::int64_t{5}, std::string("N")};
  CHECK_THAT(outcome(pair, Loss::triplet), Catch::Contains("the triplet loss needs the batch"));
  CHECK_THAT(outcome(pair, Loss::softmax_cross_entropy),
             Catch::Contains("axis 1 of output 'y' would hold the classes, but it is the batch"));
  // A batch of one that the file fixes.
  CHECK_THAT(outcome({std::int64_t{1}, std::string("N")}, Loss::softmax_cross_entropy),
             Catch::EndsWith("taken for logits"));
}
