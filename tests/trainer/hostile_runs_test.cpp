// Models that load and whose run must fail, or must not take what it asks for.
#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

#include <ondine/model.h>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::test;
using graph::Attribute;
using graph::DimDef;
using graph::GraphDef;
using graph::ModelDef;
using graph::NodeDef;

namespace {

using Int64s = std::vector<std::int64_t>;

ModelDef one_node(NodeDef it, std::vector<graph::ValueDef> inputs, graph::ValueDef output) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 20}, {"ai.onnx.preview.training", 1}};
  model.graph.name = "main";
  it.name = "it";
  model.graph.nodes = {std::move(it)};
  model.graph.inputs = std::move(inputs);
  model.graph.outputs = {std::move(output)};
  return model;
}

graph::ValueDef floats(const std::string& name, std::vector<DimDef> dims) {
  return tensor_value(name, DType::float32, std::move(dims));
}

LoadOptions narrow() {
  LoadOptions options;
  options.limits.tensor_bytes = std::uint64_t{1} << 20;
  options.limits.arena_bytes = std::uint64_t{4} << 20;
  options.limits.loop_iterations = 1000;
  options.limits.einsum_points = 1'000'000;
  return options;
}

// The message of the call; empty when it succeeds.
std::string refusal(const ModelDef& def, const NamedValues& feeds, ErrorCode code,
                    const LoadOptions& options = narrow()) {
  try {
    Model::load(encode(def), options).infer(feeds);
    return "";
  } catch (const Error& error) {
    CHECK(to_string(error.code()) == std::string(to_string(code)));
    return error.what();
  }
}

// The message of a call whose deadline has passed when its only node begins.
std::string refusal_of_late_node(const ModelDef& def, const NamedValues& feeds) {
  Model model = Model::load(encode(def));
  bool begun = false;
  for (auto deadline = std::chrono::milliseconds(20); deadline.count() < 10'000; deadline *= 2) {
    model.set_deadline(deadline);
    model.set_progress([&](double) {
      begun = true;
      std::this_thread::sleep_for(deadline + std::chrono::milliseconds(1));
      return true;
    });
    try {
      model.infer(feeds);
      return "";
    } catch (const Error& error) {
      // On a busy machine the deadline may pass before the node begins.
      if (begun) return error.what();
    }
  }
  return "";
}

Tensor vector_of(const Int64s& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// y = x after `trips` iterations, while `go`; h is what an iteration hands on.
ModelDef loop(std::vector<NodeDef> nodes, const std::string& next, DType dtype) {
  GraphDef body;
  body.name = "body";
  body.inputs = {tensor_value("i", DType::int64, {}), tensor_value("c", DType::boolean, {}),
                 tensor_value("h", dtype, {})};
  for (auto& input : body.inputs) input.type.dims.reset();
  nodes.push_back(node("Identity", {"c"}, {"c_out"}));
  body.nodes = std::move(nodes);
  body.outputs = {tensor_value("c_out", DType::boolean, {}), tensor_value(next, dtype, {})};
  for (auto& output : body.outputs) output.type.dims.reset();
  ModelDef model = one_node(
      node("Loop", {"trips", "go", "x"}, {"y"}, {{"body", std::make_shared<const GraphDef>(body)}}),
      {tensor_value("trips", DType::int64, {"T"}), tensor_value("go", DType::boolean, {"G"}),
       tensor_value("x", dtype, {"N"})},
      tensor_value("y", dtype, {"M"}));
  return model;
}

ModelDef identity_loop() {
  return loop({node("Identity", {"h"}, {"h_out"})}, "h_out", DType::float32);
}

NamedValues loop_feeds(std::int64_t trips) {
  return {{"trips", vector_of({trips})},
          {"go", Tensor::of<bool>({1}, std::array{true})},
          {"x", Tensor::of<float>({1}, std::array{1.0F})}};
}

}  // namespace

TEST_CASE("a loop with a trip count or condition that is not one element fails by name") {
  NamedValues feeds = loop_feeds(3);
  CHECK(refusal(identity_loop(), feeds, ErrorCode::mismatch).empty());
  feeds[0].second = vector_of({});
  CHECK_THAT(refusal(identity_loop(), feeds, ErrorCode::mismatch),
             Catch::Contains("trip count") && Catch::Contains("'it'"));
  feeds = loop_feeds(3);
  feeds[1].second = Tensor(DType::boolean, {0});
  CHECK_THAT(refusal(identity_loop(), feeds, ErrorCode::mismatch), Catch::Contains("condition"));
}

TEST_CASE("a dropout with an empty ratio or training flag fails by name") {
  const ModelDef model = one_node(
      node("Dropout", {"x", "ratio", "training"}, {"y"}),
      {floats("x", {"N"}), floats("ratio", {"R"}), tensor_value("training", DType::boolean, {"T"})},
      floats("y", {"N"}));
  NamedValues feeds{{"x", Tensor::of<float>({1}, std::array{1.0F})},
                    {"ratio", Tensor(DType::float32, {0})},
                    {"training", Tensor::of<bool>({1}, std::array{true})}};
  CHECK_THAT(refusal(model, feeds, ErrorCode::mismatch),
             Catch::Contains("input 1 must be a scalar"));
  feeds[1].second = Tensor::of<float>({1}, std::array{0.5F});
  feeds[2].second = Tensor(DType::boolean, {0});
  CHECK_THAT(refusal(model, feeds, ErrorCode::mismatch),
             Catch::Contains("input 2 must be a scalar"));
}

TEST_CASE("a step that needs only the second output of a node computes it") {
  ModelDef model =
      one_node(node("Dropout", {"x", "", "yes"}, {"y", "mask"}), {floats("x", {std::int64_t{100}})},
               tensor_value("mask", DType::boolean, {std::int64_t{100}}));
  model.graph.initializers = {{"yes", Tensor::scalar(true), "", {}}};
  Model loaded = Model::load(encode(model));
  const auto results =
      loaded.infer(NamedValues{{"x", Tensor(DType::float32, {100})}}, std::vector<std::string>{});
  int kept = 0;
  for (const bool keep : results[0].second.tensor().values<bool>()) kept += keep ? 1 : 0;
  CHECK(kept > 10);
  CHECK(kept < 90);
}

TEST_CASE("an operator that is only expanded refuses dims that do not fit when it runs") {
  ModelDef model = one_node(
      node("GroupNormalization", {"x", "scale", "bias"}, {"y"}, {{"num_groups", std::int64_t{2}}}),
      {floats("x", {"N", "C", "L"}), floats("scale", {"S"}), floats("bias", {"B"})},
      floats("y", {"N", "C", "L"}));
  model.opsets[0].version = 21;
  const auto message = [&](std::int64_t channels, std::int64_t scales) {
    return refusal(model,
                   {{"x", Tensor(DType::float32, {1, channels, 3})},
                    {"scale", Tensor(DType::float32, {scales})},
                    {"bias", Tensor(DType::float32, {channels})}},
                   ErrorCode::mismatch);
  };
  CHECK(message(4, 4).empty());
  CHECK_THAT(message(4, 1), Catch::Contains("lengths of scale and bias differ: 1 and 4"));
  ModelDef constant = model;
  constant.graph.inputs.resize(1);
  constant.graph.initializers = {{"scale", Tensor(DType::float32, {1}), "", {}},
                                 {"bias", Tensor(DType::float32, {4}), "", {}}};
  CHECK_THAT(refusal(constant, {{"x", Tensor(DType::float32, {1, 4, 3})}}, ErrorCode::mismatch),
             Catch::Contains("lengths of scale and bias differ: 1 and 4"));
  CHECK_THAT(message(3, 3), Catch::Contains("3 is not a multiple of 2"));
}

TEST_CASE("pads beyond the limits are refused before anything is prepared for them") {
  const std::string mode = GENERATE("constant", "wrap", "reflect", "edge");
  const ModelDef model = one_node(
      node("Pad", {"x", "pads"}, {"y"}, {{"mode", mode}}),
      {floats("x", {std::int64_t{4}}), tensor_value("pads", DType::int64, {std::int64_t{2}})},
      floats("y", {"M"}));
  const std::int64_t much =
      GENERATE(std::int64_t{1} << 22, std::int64_t{1} << 40, std::int64_t{1} << 62);
  const NamedValues feeds{{"x", Tensor(DType::float32, {4})}, {"pads", vector_of({0, much})}};
  CHECK(!refusal(model, feeds, ErrorCode::limit).empty());
  ModelDef known = model;
  known.graph.inputs.pop_back();
  known.graph.initializers = {{"pads", vector_of({0, much}), "", {}}};
  CHECK(!refusal(known, {feeds[0]}, ErrorCode::limit).empty());
}

TEST_CASE("the time of a window depends on the elements it covers, not on its size") {
  const std::int64_t half = std::int64_t{1} << 40;
  const std::string op = GENERATE("AveragePool", "MaxPool", "LpPool");
  ModelDef model = one_node(node(op, {"x"}, {"y"},
                                 {{"kernel_shape", Int64s{2 * half}},
                                  {"pads", Int64s{half, half}},
                                  {"strides", Int64s{2}}}),
                            {floats("x", {std::int64_t{1}, std::int64_t{1}, std::int64_t{4}})},
                            floats("y", {"N", "C", "M"}));
  Model loaded = Model::load(encode(model), narrow());
  const auto y = loaded.infer(
      NamedValues{{"x", Tensor::of<float>({1, 1, 4}, std::array{1.0F, 2.0F, 3.0F, 6.0F})}});
  REQUIRE(y[0].second.tensor().shape().to_string() == "[1, 1, 3]");
  const float want = op == "MaxPool" ? 6.0F : op == "AveragePool" ? 3.0F : 7.0710678F;
  for (const float value : y[0].second.tensor().values<float>()) CHECK(value == Approx(want));
}

TEST_CASE("an output above the tensor limit is refused, whatever makes it") {
  const ModelDef model = one_node(
      node("Expand", {"x", "shape"}, {"y"}),
      {floats("x", {std::int64_t{1}}), tensor_value("shape", DType::int64, {std::int64_t{1}})},
      floats("y", {"M"}));
  const NamedValues feeds{{"x", Tensor(DType::float32, {1})}, {"shape", vector_of({300'000})}};
  CHECK_THAT(refusal(model, feeds, ErrorCode::limit), Catch::Contains("limit is 1048576"));
}

TEST_CASE("all values of a call together stay below the arena limit") {
  LoadOptions options = narrow();
  options.limits.arena_bytes = 4000;
  const ModelDef model =
      one_node(node("Exp", {"x"}, {"y"}), {floats("x", {"N"})}, floats("y", {"N"}));
  const NamedValues feeds{{"x", Tensor(DType::float32, {2000})}};
  CHECK_THAT(refusal(model, feeds, ErrorCode::limit, options), Catch::Contains("8000"));
}

TEST_CASE("strings count with their characters against the budget") {
  // Doubles at each turn.
  const ModelDef doubling = loop(
      {node("Concat", {"h", "h"}, {"h_out"}, {{"axis", std::int64_t{0}}})}, "h_out", DType::string);
  NamedValues feeds = loop_feeds(60);
  feeds[2].second = Tensor::of<std::string>({1}, std::vector<std::string>{std::string(1000, 'x')});
  CHECK(!refusal(doubling, feeds, ErrorCode::limit).empty());
  const ModelDef expand = one_node(node("Expand", {"x", "shape"}, {"y"}),
                                   {tensor_value("x", DType::string, {std::int64_t{1}}),
                                    tensor_value("shape", DType::int64, {std::int64_t{1}})},
                                   tensor_value("y", DType::string, {"M"}));
  CHECK_THAT(
      refusal(expand, {{"x", feeds[2].second}, {"shape", vector_of({10'000})}}, ErrorCode::limit),
      Catch::Contains("10000 strings"));
}

TEST_CASE("loops of one call together stay below the limit of iterations") {
  CHECK(refusal(identity_loop(), loop_feeds(1000), ErrorCode::limit).empty());
  CHECK_THAT(refusal(identity_loop(), loop_feeds(1001), ErrorCode::limit),
             Catch::Contains("1000 iterations"));
  CHECK(!refusal(identity_loop(), loop_feeds(std::int64_t{1} << 62), ErrorCode::limit).empty());
}

TEST_CASE("an Einsum over more points than the limit is refused") {
  const ModelDef model =
      one_node(node("Einsum", {"a", "b", "c"}, {"y"}, {{"equation", std::string("i,j,k->")}}),
               {floats("a", {"I"}), floats("b", {"J"}), floats("c", {"K"})}, floats("y", {}));
  const Tensor x(DType::float32, {200});
  CHECK_THAT(refusal(model, {{"a", x}, {"b", x}, {"c", x}}, ErrorCode::limit),
             Catch::Contains("limit"));
}

TEST_CASE("a deadline ends a loop and one long kernel") {
  // The error of a check between nodes does not name the node.
  CHECK_THAT(refusal_of_late_node(identity_loop(), loop_feeds(1000)),
             Catch::Contains("deadline") && Catch::Contains("'it'"));
  const ModelDef product =
      one_node(node("MatMul", {"a", "b"}, {"y"}),
               {floats("a", {"I", "K"}), floats("b", {"K", "J"})}, floats("y", {"I", "J"}));
  // Deadlines are seen between parts of 2^31 products of two numbers.
  const Tensor large(DType::float32, {1800, 1800});
  CHECK_THAT(refusal_of_late_node(product, {{"a", large}, {"b", large}}),
             Catch::Contains("deadline") && Catch::Contains("'it'"));
}

TEST_CASE("a cancel flag ends a call from another thread, and the model can be used again") {
  auto flag = std::make_shared<CancelFlag>(false);
  LoadOptions options;
  options.cancel = flag;
  Model model = Model::load(encode(identity_loop()), options);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    flag->store(true);
  });
  try {
    model.infer(loop_feeds(std::int64_t{1} << 40));
    FAIL_CHECK("was not cancelled");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
  canceller.join();
  CHECK_THROWS_AS(model.infer(loop_feeds(1)), Error);
  flag->store(false);
  CHECK(model.infer(loop_feeds(1)).size() == 1);
}

TEST_CASE("nodes of derivatives count against the limit of nodes") {
  const auto bytes = encode(linear_regression(0.1F));
  bool by_derivatives = false;
  LoadOptions options;
  for (options.limits.nodes = 1; options.limits.nodes < 200; ++options.limits.nodes) {
    try {
      Model::load(bytes, options);
      break;
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
      by_derivatives |= std::string(error.what()).find("with derivatives") != std::string::npos;
    }
  }
  CHECK(options.limits.nodes < 200);
  CHECK(by_derivatives);
}

TEST_CASE("a tensor of higher rank than the limit is refused") {
  LoadOptions options = narrow();
  options.limits.rank = 3;
  ModelDef model = one_node(node("Neg", {"x"}, {"y"}), {floats("x", {"A", "B", "C"})},
                            floats("y", {"A", "B", "C"}));
  CHECK(refusal(model, {{"x", Tensor(DType::float32, {1, 1, 1})}}, ErrorCode::limit, options)
            .empty());
  model.graph.inputs[0].type.dims->push_back("D");
  model.graph.outputs[0].type.dims->push_back("D");
  CHECK_THAT(refusal(model, {}, ErrorCode::limit, options), Catch::Contains("'x'"));
}

TEST_CASE("an error in a branch names its node and is not an internal error") {
  GraphDef yes;
  yes.name = "yes";
  yes.nodes = {node("Identity", {"x"}, {"yes_out"})};
  yes.outputs = {floats("yes_out", {})};
  GraphDef no = yes;
  no.name = "no";
  no.nodes[0].outputs[0] = "no_out";
  no.outputs[0].name = "no_out";
  const ModelDef model = one_node(node("If", {"x"}, {"y"},
                                       {{"then_branch", std::make_shared<const GraphDef>(yes)},
                                        {"else_branch", std::make_shared<const GraphDef>(no)}}),
                                  {tensor_value("x", DType::boolean, {})}, floats("y", {}));
  CHECK_THAT(refusal(model, {}, ErrorCode::mismatch),
             Catch::Contains("yes_out") && Catch::Contains("'it'"));
}

TEST_CASE("a product of constants that no tensor could hold names its node") {
  ModelDef model =
      one_node(node("Einsum", {"c", "c", "c"}, {"y"}, {{"equation", std::string("i,j,k->ijk")}}),
               {}, floats("y", {"A", "B", "C"}));
  model.graph.initializers = {{"c", Tensor(DType::float32, {1 << 20}), {}, {}}};
  CHECK_THAT(refusal(model, {}, ErrorCode::limit, {}), Catch::Contains("'it' (Einsum"));
}

TEST_CASE("a limit names the node of an Einsum over too many elements") {
  for (const bool keeps : {false, true}) {
    const std::string equation = "a,b,c,d,e,f,g,h,i,j->";
    const NodeDef einsum = node("Einsum", std::vector<std::string>(10, "x"), {"y"},
                                {{"equation", equation + (keeps ? "abcdefghij" : "")}});
    const ModelDef model =
        one_node(einsum, {floats("x", {"N"})}, floats("y", std::vector<DimDef>(keeps ? 10 : 0)));
    const std::string message =
        refusal(model, {{"x", Tensor(DType::float32, {64})}}, ErrorCode::limit);
    CHECK_THAT(message, Catch::Contains("'it'"));
  }
}
