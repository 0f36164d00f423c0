// Batches that run through the widest layers in parts.
#include "trainer/plan/batch_parts.h"

#include <cmath>

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
  Chain mixed;  // the second term is not of the batch, nor a single number
  mixed.graph.nodes[1].op = &sum;
  mixed.graph[mixed.w].type = Type::tensor(DType::uint8, Shape{1, 2});
  CHECK_FALSE(mixed.run());
  mixed.graph[mixed.w].type = Type::tensor(DType::uint8, Shape{1, 1});
  CHECK(mixed.run());
}

namespace {

// Three convolutions, wide in the middle, and a residual sum.
std::vector<std::byte> network() {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, {"N", 16, 48, 48});
  b.initializer("w0", random_floats({64, 16, 1, 1}, 1));
  b.initializer("w1", random_floats({64, 1, 3, 3}, 2));
  b.initializer("w2", random_floats({16, 64, 1, 1}, 3));
  b.node("Conv", "", {"x", "w0"}, {"a"});
  b.node("Relu", "", {"a"}, {"b"});
  b.node("Conv", "", {"b", "w1"}, {"c"},
         {{"group", std::int64_t{64}}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  b.node("Conv", "", {"c", "w2"}, {"d"});
  b.node("Add", "", {"d", "x"}, {"y"});
  b.output("y", DType::float32, {"N", 16, 48, 48});
  return b.bytes();
}

std::vector<float> outputs(const Tensor& x, Precision precision, int threads, std::size_t& arena) {
  Model model = Model::load(network(), {.threads = threads, .precision = precision});
  PlanRequest request;
  request.shapes = {{"x", x.shape()}};
  arena = model.plan_report(request).arena_bytes;
  const Tensor y = model.infer({{"x", x}})["y"].tensor();
  const auto values = y.values<float>();
  return {values.begin(), values.end()};
}

Tensor sample_of(const Tensor& x, std::size_t sample) {
  Shape shape = x.shape();
  shape[0] = 1;
  const auto size = static_cast<std::size_t>(shape.size());
  return Tensor::of<float>(shape, x.values<float>().subspan(sample * size, size));
}

}  // namespace

TEST_CASE("parts of a batch give what its samples give alone, for any number of threads") {
  const auto precision = GENERATE(Precision::float32, Precision::bfloat16);
  constexpr std::int64_t batch = 16;
  const Tensor x = random_floats({batch, 16, 48, 48}, 4);
  std::size_t arena = 0, same = 0, one = 0;
  const auto y = outputs(x, precision, 1, arena);
  CHECK(arena < std::size_t{10} << 20);  // two values between the layers are 9 MB each
  CHECK(outputs(x, precision, 3, same) == y);
  const std::size_t size = y.size() / batch;
  double error = 0, most = 0;
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const auto alone = outputs(sample_of(x, sample), Precision::float32, 1, one);
    REQUIRE(alone.size() == size);
    for (std::size_t i = 0; i < size; ++i) {
      const double want{alone[i]};
      error = std::max(error, std::abs(want - double{y[sample * size + i]}));
      most = std::max(most, std::abs(want));
    }
  }
  CHECK(error < (precision == Precision::float32 ? 1e-6 : 0.02) * most);
}
