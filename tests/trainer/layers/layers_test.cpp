#include <ondine/layers.h>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

LayerReport report_of(const ModelBuilder& builder,
                      std::vector<std::pair<std::string, Shape>> shapes = {}) {
  return layers(Model::load(builder.bytes()), {std::move(shapes), 0});
}

std::uint64_t work_of(const ModelBuilder& builder) {
  const LayerReport report = report_of(builder);
  REQUIRE(report.layers.size() == 1);
  CHECK(report.multiply_adds == report.layers[0].multiply_adds);
  return report.multiply_adds;
}

std::vector<std::string> operators_of(const LayerReport& report) {
  std::vector<std::string> names;
  for (const Layer& layer : report.layers) names.push_back(layer.op);
  return names;
}

// `count` multiply-adds, counted one by one as the loops of a convolution would.
std::uint64_t convolution(std::int64_t batch, std::int64_t out, std::int64_t in_of_group,
                          std::int64_t size, std::int64_t kernel) {
  std::uint64_t count = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < out; ++c) {
      for (std::int64_t position = 0; position < size * size; ++position) {
        count += static_cast<std::uint64_t>(in_of_group * kernel * kernel);
      }
    }
  }
  return count;
}

}  // namespace

TEST_CASE("layers of a residual block have the parameters and multiply-adds of the textbook") {
  ModelBuilder b("block");
  b.input("x", DType::float32, {"N", 8, 14, 14});
  const auto normalized = [&](const std::string& name, const std::string& from) {
    return b.node("BatchNormalization",
                  {from, b.initializer(name + ".scale", random_floats({16}, 1)),
                   b.initializer(name + ".bias", random_floats({16}, 2)),
                   b.initializer(name + ".mean", random_floats({16}, 3)),
                   b.initializer(name + ".variance", random_floats({16}, 4))});
  };
  const auto w1 = b.initializer("w1", random_floats({16, 8, 3, 3}, 5));
  const auto w2 = b.initializer("w2", random_floats({16, 16, 3, 3}, 6));
  const auto w3 = b.initializer("w3", random_floats({16, 8, 1, 1}, 7));
  const std::vector<std::int64_t> pads{1, 1, 1, 1};
  const std::vector<std::int64_t> two{2, 2};
  const auto c1 = b.node("Conv", {"x", w1}, {{"pads", pads}, {"strides", two}});
  const auto h = b.node("Relu", {normalized("n1", c1)});
  const auto left = normalized("n2", b.node("Conv", {h, w2}, {{"pads", pads}}));
  const auto right = b.node("Conv", {"x", w3}, {{"strides", two}});
  b.node("Relu", {b.node("Add", {left, right})}, {}, "y");
  b.output("y", DType::float32, {"N", 16, 7, 7});

  const LayerReport report = report_of(b, {{"x", {2, 8, 14, 14}}});
  CHECK(operators_of(report) == std::vector<std::string>{"Conv", "BatchNormalization", "Conv",
                                                         "BatchNormalization", "Conv"});
  CHECK(report.trained_parameters == 0);
  // Running statistics are no parameters.
  CHECK(report.frozen_parameters == 16 * 8 * 9 + 16 * 16 * 9 + 16 * 8 + 2 * (16 + 16));
  const std::uint64_t first = convolution(2, 16, 8, 7, 3);
  const std::uint64_t second = convolution(2, 16, 16, 7, 3);
  CHECK(report.layers[0].multiply_adds == first);
  CHECK(report.layers[0].type == "tensor(float)[2, 16, 7, 7]");
  CHECK(report.layers[0].output_bytes == 2 * 16 * 7 * 7 * 4);
  CHECK(report.layers[1].frozen_parameters == 32);
  CHECK(report.layers[1].multiply_adds == 0);
  CHECK(report.multiply_adds == first + second + convolution(2, 16, 8, 7, 1));
  CHECK_FALSE(report.step);
}

TEST_CASE("grouped, depthwise and transposed convolutions count the channels of their group") {
  const std::int64_t group = GENERATE(1, 2, 4);
  ModelBuilder b("conv");
  b.input("x", DType::float32, {1, 4, 6, 6});
  b.initializer("w", random_floats({8, 4 / group, 3, 3}, 1));
  SECTION("forward") {
    b.node("Conv", {"x", "w"}, {{"group", group}}, "y");
    b.output("y", DType::float32, {1, 8, 4, 4});
    CHECK(work_of(b) == convolution(1, 8, 4 / group, 4, 3));
  }
  SECTION("transposed: every input element meets the kernels of its group") {
    b.initializer("v", random_floats({4, 8 / group, 3, 3}, 1));
    b.node("ConvTranspose", {"x", "v"}, {{"group", group}}, "y");
    b.output("y", DType::float32, {1, 8, 8, 8});
    CHECK(work_of(b) == static_cast<std::uint64_t>(4 * 6 * 6 * (8 / group) * 9));
  }
}

TEST_CASE("products of matrices count rows times columns times the summed axis") {
  ModelBuilder b("product");
  SECTION("MatMul with a batch on one side") {
    b.input("x", DType::float32, {5, 2, 3});
    b.node("MatMul", {"x", b.initializer("w", random_floats({3, 7}, 1))}, {}, "y");
    b.output("y", DType::float32, {5, 2, 7});
    CHECK(work_of(b) == 5 * 2 * 3 * 7);
  }
  SECTION("MatMul of a vector") {
    b.input("x", DType::float32, {3});
    b.node("MatMul", {"x", b.initializer("w", random_floats({3, 7}, 1))}, {}, "y");
    b.output("y", DType::float32, {7});
    CHECK(work_of(b) == 3 * 7);
  }
  SECTION("Gemm of a transposed operand") {
    b.input("x", DType::float32, {3, 2});
    b.node("Gemm", {"x", b.initializer("w", random_floats({3, 7}, 1))},
           {{"transA", std::int64_t{1}}}, "y");
    b.output("y", DType::float32, {2, 7});
    CHECK(work_of(b) == 2 * 3 * 7);
  }
  SECTION("Einsum of three operands") {
    b.input("x", DType::float32, {2, 3});
    b.node("Einsum",
           {"x", b.initializer("w", random_floats({3, 5}, 1)),
            b.initializer("v", random_floats({5}, 2))},
           {{"equation", std::string("ij,jk,k->i")}}, "y");
    b.output("y", DType::float32, {2});
    CHECK(work_of(b) == 2 * (2 * 3 * 5));
  }
}

TEST_CASE("attention counts the products with keys and with values, past keys included") {
  ModelBuilder b("attention", 23);
  // 2 batches, 4 heads, 3 queries, 5 keys of size 6, values of size 7.
  b.input("q", DType::float32, {2, 4, 3, 6});
  b.input("k", DType::float32, {2, 4, 5, 6});
  b.input("v", DType::float32, {2, 4, 5, 7});
  b.output("y", DType::float32, {2, 4, 3, 7});
  SECTION("without past") {
    b.node("Attention", {"q", "k", "v"}, {}, "y");
    CHECK(work_of(b) == 2 * 4 * (3 * 5 * 6 + 3 * 5 * 7));
  }
  SECTION("with 9 past keys") {
    b.input("pk", DType::float32, {2, 4, 9, 6});
    b.input("pv", DType::float32, {2, 4, 9, 7});
    b.node("Attention", "", {"q", "k", "v", "", "pk", "pv"}, {"y", "a", "c"});
    CHECK(work_of(b) == 2 * 4 * (3 * 14 * 6 + 3 * 14 * 7));
  }
}

TEST_CASE("recurrent layers count input and recurrent weights in every step") {
  ModelBuilder b("lstm");
  b.input("x", DType::float32, {11, 2, 3});
  b.initializer("w", random_floats({1, 4 * 5, 3}, 1));
  b.initializer("r", random_floats({1, 4 * 5, 5}, 2));
  b.node("LSTM", "", {"x", "w", "r"}, {"", "h"}, {{"hidden_size", std::int64_t{5}}});
  b.output("h", DType::float32, {1, 2, 5});
  CHECK(work_of(b) == 11 * 2 * (4 * 5 * 3 + 4 * 5 * 5));
}

TEST_CASE("a shared weight counts once, for the nodes that compute with it") {
  ModelBuilder b("tied");
  b.input("ids", DType::int64, {4});
  b.initializer("table", random_floats({9, 5}, 1));
  b.initializer("bias", random_floats({9}, 2));
  const auto h = b.node("Gather", {"table", "ids"});
  const auto turned = b.node("Transpose", {"table"});
  b.node("Add", {b.node("MatMul", {h, turned}), "bias"}, {}, "y");
  b.output("y", DType::float32, {4, 9});
  const LayerReport report = report_of(b);
  REQUIRE(operators_of(report) == std::vector<std::string>{"Gather", "MatMul", "Add"});
  CHECK(report.layers[0].frozen_parameters == 45);
  CHECK_FALSE(report.layers[0].shared);
  CHECK(report.layers[1].frozen_parameters == 45);
  CHECK(report.layers[1].shared);
  CHECK(report.layers[2].frozen_parameters == 9);
  CHECK(report.frozen_parameters == 45 + 9);
  CHECK(to_string(report).find("totals count it once") != std::string::npos);
}

TEST_CASE("masks, indices and scalars are no parameters") {
  ModelBuilder b("constants");
  b.input("x", DType::float32, {2, 3});
  const float inf = std::numeric_limits<float>::infinity();
  b.initializer("mask", Tensor::of<float>({2, 3}, {0, -inf, -inf, 0, 0, -inf}));
  b.initializer("half", Tensor::scalar<float>(0.5F));
  b.initializer("shape", Tensor::of<std::int64_t>({2}, {3, 2}));
  const auto masked = b.node("Add", {b.node("Mul", {"x", "half"}), "mask"});
  b.node("Reshape", {masked, "shape"}, {}, "y");
  b.output("y", DType::float32, {3, 2});
  const LayerReport report = report_of(b);
  CHECK(report.layers.empty());
  CHECK(report.frozen_parameters == 0);
}

TEST_CASE("in a training model, parameters are trained or frozen and a step's memory is planned") {
  ModelBuilder b("mlp");
  b.input("x", DType::float32, {"N", 4});
  const auto h = b.node("Relu", {b.node("Gemm", {"x", b.initializer("w1", random_floats({4, 8}, 1)),
                                                 b.initializer("b1", random_floats({8}, 2))})});
  b.node("Gemm", {h, b.initializer("w2", random_floats({8, 3}, 3))}, {}, "logits");
  b.output("logits", DType::float32, {"N", 3});
  const Model model = prepare(b.bytes(), {.freeze = {"w1"}});
  const LayerReport report = layers(model, {{{"x", {6, 4}}}, 0});
  REQUIRE(report.layers.size() == 2);
  CHECK(report.layers[0].trained_parameters == 8);
  CHECK(report.layers[0].frozen_parameters == 32);
  CHECK(report.layers[1].trained_parameters == 24);
  CHECK(report.trained_parameters == 32);
  CHECK(report.frozen_parameters == 32);
  CHECK(report.multiply_adds == 6 * (4 * 8 + 8 * 3));
  const PlanReport step = model.plan_report({{{"x", {6, 4}}}, 0});
  REQUIRE(report.step);
  CHECK(report.step->arena_bytes == step.arena_bytes);
  CHECK(report.step->state_bytes == step.state_bytes);
  CHECK(report.inference.arena_bytes == model.plan_report({{{"x", {6, 4}}}, {}}).arena_bytes);
}

TEST_CASE("a branch counts by its larger side, with the parameters of both") {
  using namespace graph;  // NOLINT
  const auto branch = [](std::int64_t width, const std::string& suffix) {
    auto body = std::make_shared<GraphDef>();
    body->name = "branch" + suffix;
    body->initializers = {{"w" + suffix, random_floats({3, width}, 1), "", {}},
                          {"v" + suffix, random_floats({width, 2}, 2), "", {}}};
    body->nodes = {node("MatMul", {"x", "w" + suffix}, {"h" + suffix}),
                   node("MatMul", {"h" + suffix, "v" + suffix}, {"y" + suffix})};
    body->outputs = {tensor_value("y" + suffix, DType::float32, {})};
    body->outputs[0].type.dims.reset();
    return std::shared_ptr<const GraphDef>(body);
  };
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("x", DType::float32, {std::int64_t{4}, std::int64_t{3}}),
                        tensor_value("c", DType::boolean, {})};
  model.graph.outputs = {tensor_value("y", DType::float32, {std::int64_t{4}, std::int64_t{2}})};
  model.graph.nodes = {
      node("If", {"c"}, {"y"}, {{"then_branch", branch(5, "1")}, {"else_branch", branch(7, "2")}})};
  const LayerReport report = layers(Model::load(encode(model)));
  REQUIRE(operators_of(report) == std::vector<std::string>{"If"});
  CHECK(report.layers[0].multiply_adds == 4 * 3 * 7 + 4 * 7 * 2);
  CHECK(report.frozen_parameters == 3 * 5 + 5 * 2 + 3 * 7 + 7 * 2);
}

TEST_CASE("layers need the shapes of dynamic inputs") {
  ModelBuilder b("open");
  b.input("x", DType::float32, {"N", 4});
  b.node("MatMul", {"x", b.initializer("w", random_floats({4, 8}, 1))}, {}, "y");
  b.output("y", DType::float32, {"N", 8});
  CHECK_THROWS_WITH(report_of(b), Catch::Contains("dim 0 ('N') of input 'x'"));
  CHECK_THROWS_WITH(report_of(b, {{"z", {1}}}), Catch::Contains("there is no input 'z'"));
}

}  // namespace ondine::test
