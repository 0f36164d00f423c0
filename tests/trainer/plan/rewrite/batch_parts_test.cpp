// Batches that run through the widest layers in parts.
#include "trainer/plan/rewrite/batch_parts.h"

#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

#include "graph/contract/op_def.h"
#include "tests/support/op_harness.h"
#include "tests/trainer/plan/toy_operators.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

using namespace ondine::graph;  // NOLINT

const OpDef layer{.name = "Layer", .infer = infer_nothing, .traits = {.per_sample = 1}};
const OpDef sum{.name = "Sum", .infer = infer_nothing, .traits = {.per_sample = 3}};

// Values of 8 samples of `width` KiB each.
struct Network {
  Graph graph;
  std::vector<ValueId> outside;

  ValueId add(std::int64_t batch, std::int64_t width) {
    return graph.add_temporary("value", Type::tensor(DType::uint8, Shape{batch, width << 10}));
  }
  ValueId input(std::int64_t batch, std::int64_t width) {
    graph.inputs.push_back(add(batch, width));
    return graph.inputs.back();
  }
  ValueId node(const OpDef& op, std::vector<ValueId> inputs, std::int64_t width) {
    Node node;
    node.op = &op;
    node.inputs = std::move(inputs);
    node.outputs = {add(8, width)};
    graph.nodes.push_back(node);
    return node.outputs[0];
  }
  bool run() { return trainer::split_batch(graph, outside); }
  std::string operators() const {
    std::string names;
    for (const Node& node : graph.nodes) names += std::string(node.op->name) + " ";
    return names;
  }
};

// x -> a -> wide -> b, which the end reads.
struct Chain : Network {
  ValueId x = input(8, 10);
  ValueId w = input(8, 1);
  ValueId a = node(layer, {x, w}, 100);
  ValueId wide = node(layer, {a, w}, 1000);
  ValueId b = node(layer, {wide, w}, 20);
  ValueId end = node(plain, {b}, 1);
  Chain() { graph.outputs = {end}; }
};

}  // namespace

TEST_CASE("the widest layers run for a part of the batch at a time") {
  Chain chain;
  REQUIRE(chain.run());
  std::string want;
  for (int part = 0; part < 8; ++part) want += "Slice Layer Layer Layer ";
  CHECK(chain.operators() == want + "Concat Plain ");
  const Node& slice = chain.graph.nodes[4];
  CHECK(slice.inputs[0] == chain.x);
  CHECK(chain.graph[slice.inputs[1]].constant->item<std::int64_t>() == 1);
  CHECK(chain.graph[slice.inputs[2]].constant->item<std::int64_t>() == 2);
  CHECK(chain.graph.nodes[5].inputs == std::vector<ValueId>{slice.outputs[0], chain.w});
  CHECK(chain.graph[chain.graph.nodes[6].outputs[0]].type.shape() == Shape{1, 1000 << 10});
  CHECK(chain.graph.nodes[32].outputs[0] == chain.b);
  CHECK(chain.graph.nodes[32].inputs.size() == 8);
}

TEST_CASE("a part is one sample or a sixteenth of the batch, and one sample has no parts") {
  for (const std::int64_t batch : {1, 3, 40}) {
    Chain chain;
    for (GraphValue& value : chain.graph.values) value.type.dims->front() = Dim(batch);
    CHECK(chain.run() == (batch > 1));
    const std::size_t parts = batch == 3 ? 3 : 16;
    CHECK(chain.graph.nodes.size() == (batch == 1 ? 4 : parts * 4 + 2));
  }
}

TEST_CASE("parts go on through later layers while that costs little memory") {
  for (const std::int64_t width : {30, 200}) {
    Chain chain;
    Node& end = chain.graph.nodes.back();
    const ValueId c = chain.graph.add_temporary("c", chain.graph[chain.b].type);
    chain.graph[c].type.dims->back() = Dim(width << 10);
    Node later = chain.graph.nodes[2];
    later.inputs[0] = chain.b;
    later.outputs = {c};
    end.inputs = {c};
    chain.graph.nodes.insert(chain.graph.nodes.end() - 1, later);
    REQUIRE(chain.run());
    const bool goes_on = width == 30;
    CHECK(chain.graph.nodes.size() == (goes_on ? 8 * 5 + 2 : 8 * 4 + 3));
    CHECK(chain.graph.nodes[goes_on ? 40 : 32].outputs[0] == (goes_on ? c : chain.b));
  }
}

TEST_CASE("a batch stays whole where that saves little") {
  Chain read;  // the backward pass, say, reads what is wide
  read.graph.outputs.push_back(read.node(plain, {read.wide, read.end}, 1));
  CHECK_FALSE(read.run());
  Chain held;  // as much waits meanwhile
  const ValueId other = held.node(plain, {held.x}, 20000);
  std::rotate(held.graph.nodes.begin(), held.graph.nodes.end() - 1, held.graph.nodes.end());
  held.graph.outputs.push_back(held.node(plain, {other, held.end}, 1));
  CHECK_FALSE(held.run());
  Chain heavy;  // weights that every part reads
  heavy.graph[heavy.w].type = Type::tensor(DType::uint8, Shape{8, 1000 << 10});
  CHECK_FALSE(heavy.run());
}

TEST_CASE("a batch stays whole where samples are not computed one by one") {
  Chain whole;
  whole.graph.nodes[1].op = &plain;
  CHECK_FALSE(whole.run());
  Chain target;
  target.outside = {target.wide};
  CHECK_FALSE(target.run());
  Chain refused;
  const OpDef other{.name = "Layer",
                    .infer = infer_nothing,
                    .traits = {.per_sample = 1,
                               .is_per_sample = [](const Node&, const Graph&) { return false; }}};
  refused.graph.nodes[1].op = &other;
  CHECK_FALSE(refused.run());
  // A term that is not of the batch, and those that are the same for every sample.
  for (const Shape& shape : {Shape{2, 2}, Shape{1, 2}, Shape{2}}) {
    Chain mixed;
    mixed.graph.nodes[1].op = &sum;
    mixed.graph[mixed.w].type = Type::tensor(DType::uint8, shape);
    CHECK(mixed.run() == (shape != Shape{2, 2}));
  }
}

namespace {

using Ints = std::vector<std::int64_t>;
const std::int64_t side = 48;
const std::vector<ModelBuilder::Dim> planes{"N", std::int64_t{16}, side, side};

// Three convolutions, wide in the middle, and a residual sum.
std::vector<std::byte> convolutions() {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, planes);
  b.initializer("w0", random_floats({64, 16, 1, 1}, 1));
  b.initializer("w1", random_floats({64, 1, 3, 3}, 2));
  b.initializer("w2", random_floats({16, 64, 1, 1}, 3));
  b.node("Conv", "", {"x", "w0"}, {"a"});
  b.node("Relu", "", {"a"}, {"b"});
  b.node("Conv", "", {"b", "w1"}, {"c"}, {{"group", std::int64_t{64}}, {"pads", Ints(4, 1)}});
  b.node("Conv", "", {"c", "w2"}, {"d"});
  b.node("Add", "", {"d", "x"}, {"y"});
  b.output("y", DType::float32, planes);
  return b.bytes();
}

// Two normalized branches, which the means of their planes scale.
std::vector<std::byte> normalized_convolutions() {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, planes);
  std::vector<std::string> branches;
  for (const std::string name : {"l", "r"}) {
    const std::uint32_t seed = name == "l" ? 1 : 9;
    const auto w = b.initializer(name + "w", random_floats({32, 16, 1, 1}, seed));
    const auto scale = b.initializer(name + "scale", random_floats({32}, seed + 1));
    const auto bias = b.initializer(name + "bias", random_floats({32}, seed + 2));
    const auto mean = b.initializer(name + "mean", random_floats({32}, seed + 3));
    const auto variance = b.initializer(name + "variance", random_floats({32}, seed + 4, 0.5F));
    const auto y = b.node("Conv", {"x", w});
    branches.push_back(
        b.node("Tanh", {b.node("BatchNormalization", {y, scale, bias, mean, variance})}));
  }
  const auto joined = b.node("Concat", branches, {{"axis", std::int64_t{-3}}});
  const auto means = b.node("ReduceMean", {joined}, {{"axes", Ints{2, 3}}});
  const auto scaled = b.node("Mul", {joined, b.node("Sigmoid", {means})});
  const auto last = b.initializer("last", random_floats({16, 64, 1, 1}, 20));
  b.node("Add", {b.node("Conv", {scaled, last}), "x"}, {}, "y");
  b.output("y", DType::float32, planes);
  return b.bytes();
}

// A perceptron on normalized pixels, scaled by channel.
std::vector<std::byte> pixel_perceptron() {
  ModelBuilder b("network", 20);
  b.input("x", DType::float32, planes);
  const auto pixels = b.node("Transpose", {"x"}, {{"perm", Ints{0, 2, 3, 1}}});
  const auto scale = b.initializer("scale", random_floats({16}, 1));
  const auto bias = b.initializer("bias", random_floats({16}, 2));
  const auto rows = b.node("LayerNormalization", {pixels, scale, bias});
  const auto wide = b.node("MatMul", {rows, b.initializer("w0", random_floats({16, 128}, 3))});
  const auto narrow =
      b.node("MatMul", {b.node("Gelu", {wide}), b.initializer("w1", random_floats({128, 16}, 4))});
  const auto scaled = b.node("Mul", {narrow, b.initializer("gamma", random_floats({16}, 5))});
  b.node("Add", {b.node("Transpose", {scaled}, {{"perm", Ints{0, 3, 1, 2}}}), "x"}, {}, "y");
  b.output("y", DType::float32, planes);
  return b.bytes();
}

struct Run {
  std::vector<float> y;
  std::size_t arena = 0;
  bool in_parts = false;
};

Run run(const std::vector<std::byte>& network, const Tensor& x, Precision precision, int threads) {
  LoadOptions options{.threads = threads, .precision = precision};
  // A bottleneck as one operator stores nothing that is worth cutting.
  if (precision == Precision::bfloat16) options.no_fusion = {Fusion::fuse_pointwise};
  Model model = Model::load(network, options);
  PlanRequest request;
  request.shapes = {{"x", x.shape()}};
  const PlanReport plan = model.plan_report(request);
  const Tensor y = model.infer({{"x", x}})["y"].tensor();
  const auto values = y.values<float>();
  const bool in_parts = std::ranges::count(plan.nodes, "Slice", &PlannedOperator::op) > 1;
  return {{values.begin(), values.end()}, plan.arena_bytes, in_parts};
}

Tensor sample_of(const Tensor& x, std::size_t sample) {
  Shape shape = x.shape();
  shape[0] = 1;
  const auto size = static_cast<std::size_t>(shape.size());
  return Tensor::of<float>(shape, x.values<float>().subspan(sample * size, size));
}

}  // namespace

TEST_CASE("parts of a batch give what its samples give alone, for any number of threads") {
  const auto network = GENERATE(convolutions, normalized_convolutions, pixel_perceptron)();
  const auto precision = GENERATE(Precision::float32, Precision::bfloat16);
  constexpr std::int64_t batch = 16;
  const Tensor x = random_floats({batch, 16, side, side}, 4);
  const auto [y, arena, in_parts] = run(network, x, precision, 1);
  CHECK(in_parts);
  CHECK(arena < std::size_t{10} << 20);  // values between the layers are 9 to 18 MB each
  CHECK(run(network, x, precision, 3).y == y);
  const std::size_t elements = y.size() / batch;
  double error = 0, most = 0;
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const auto alone = run(network, sample_of(x, sample), Precision::float32, 1).y;
    REQUIRE(alone.size() == elements);
    for (std::size_t i = 0; i < elements; ++i) {
      const double want{alone[i]};
      error = std::max(error, std::abs(want - double{y[sample * elements + i]}));
      most = std::max(most, std::abs(want));
    }
  }
  CHECK(error < (precision == Precision::float32 ? 1e-6 : 0.02) * most);
}

namespace {

// One operator on [64, 64, 32, 32], 16 MB, and means of what it gives.
using Middle = std::function<std::string(ModelBuilder&, std::string)>;
std::vector<std::byte> around(const Middle& add) {
  ModelBuilder b("network", 17);
  const std::int64_t batch = 64, width = 32, one = 1;
  b.input("x", DType::float32, {batch, std::int64_t{16}, width, width});
  const auto w = b.initializer("w", random_floats({64, 16, 1, 1}, 1));
  const auto made = add(b, b.node("Sin", {b.node("Conv", {"x", w})}));
  b.node("ReduceMean", {b.node("Sin", {made})}, {{"axes", Ints{1, 2, 3}}}, "y");
  b.output("y", DType::float32, {batch, one, one, one});
  return b.bytes();
}

bool runs_in_parts(const Middle& add) {
  return run(around(add), random_floats({64, 16, 32, 32}, 4), Precision::float32, 1).in_parts;
}

}  // namespace

TEST_CASE("operators that mix samples do not run in parts") {
  SECTION("LayerNormalization") {
    for (const std::int64_t axis : {1, 0}) {
      CHECK(runs_in_parts([&](ModelBuilder& b, const std::string& v) {
              const Shape shape = axis == 0 ? Shape{64, 64, 32, 32} : Shape{64, 32, 32};
              const auto scale = b.initializer("scale", random_floats(shape, 5));
              return b.node("LayerNormalization", {v, scale}, {{"axis", axis}});
            }) == (axis == 1));
    }
  }
  SECTION("BatchNormalization") {
    for (const std::int64_t training : {0, 1}) {
      CHECK(runs_in_parts([&](ModelBuilder& b, const std::string& v) {
              std::vector<std::string> inputs{v};
              for (const std::string name : {"scale", "bias", "mean", "variance"})
                inputs.push_back(b.initializer(name, random_floats({64}, 6, 0.5F)));
              return b.node("BatchNormalization", inputs, {{"training_mode", training}});
            }) == (training == 0));
    }
  }
  SECTION("Transpose") {
    for (const Ints& perm : {Ints{0, 1, 3, 2}, Ints{1, 0, 2, 3}}) {
      CHECK(runs_in_parts([&](ModelBuilder& b, const std::string& v) {
              return b.node("Transpose", {v}, {{"perm", perm}});
            }) == (perm[0] == 0));
    }
  }
  SECTION("MatMul") {
    for (const Shape& shape : {Shape{32, 32}, Shape{64, 64, 32, 32}}) {
      CHECK(runs_in_parts([&](ModelBuilder& b, const std::string& v) {
              return b.node("MatMul", {v, b.initializer("factors", random_floats(shape, 7))});
            }) == (shape.rank() == 2));
    }
  }
}
