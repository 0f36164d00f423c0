#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "core/float_formats.h"
#include "kernels/simd/tables.h"
#include "tests/support/models.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr std::int64_t rows = 1024;
constexpr std::int64_t cols = 1024;
constexpr std::int64_t wide = 4096;
constexpr std::int64_t depth = 64;
constexpr std::int64_t narrow = 48;  // columns of factors that are too small to be held rounded

// Integers from 0 to `max`, whose sums of products are exact.
Tensor integers(const Shape& shape, int max) {
  Tensor tensor(DType::float32, shape);
  std::uint32_t state = 12345;
  for (float& value : tensor.mutable_values<float>()) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>((state >> 16) % static_cast<std::uint32_t>(max + 1));
  }
  return tensor;
}

// y = h + 0 with h = x w, which waits while larger values are computed; seen through a view if so.
std::vector<std::byte> waiting_product(bool viewed) {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, {rows, depth});
  b.initializer("w", integers({depth, cols}, 100));
  b.initializer("zeros", Tensor(DType::float32, {depth, wide}));
  b.initializer("flat", Tensor::of<std::int64_t>({1}, {rows * cols}));
  b.node("MatMul", "", {"x", "w"}, {"h"});
  if (viewed) b.node("Reshape", "", {"h", "flat"}, {"v"});
  b.node("MatMul", "", {"x", "zeros"}, {"p"});
  b.node("Exp", "", {"p"}, {"e"});
  b.node("Sub", "", {"e", "p"}, {"d"});
  b.node("Mul", "", {"d", "p"}, {"s"});
  b.node("ReduceMax", "", {"s"}, {"r"}, {{"keepdims", std::int64_t{0}}});
  b.node("Add", "", {viewed ? "v" : "h", "r"}, {"y"});
  if (viewed) {
    b.output("y", DType::float32, {rows * cols});
  } else {
    b.output("y", DType::float32, {rows, cols});
  }
  return b.bytes();
}

std::vector<float> run(bool viewed, Precision precision, int threads) {
  const Model model =
      Model::load(waiting_product(viewed), {.threads = threads, .precision = precision});
  const Tensor y = model.infer({{"x", integers({rows, depth}, 1)}})["y"].tensor();
  const auto values = y.values<float>();
  return {values.begin(), values.end()};
}

// Four layers of 256 features.
std::vector<std::byte> perceptron() {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, {"N", 256});
  std::string last = "x";
  for (int layer = 0; layer < 4; ++layer) {
    const std::string n = std::to_string(layer);
    Tensor w = random_floats({256, 256}, static_cast<unsigned>(layer + 1));
    for (float& value : w.mutable_values<float>()) value *= 0.1F;
    b.initializer("w" + n, w);
    b.node("MatMul", "", {last, "w" + n}, {"h" + n});
    b.node("Tanh", "", {"h" + n}, {"t" + n});
    last = "t" + n;
  }
  b.node("Identity", "", {last}, {"y"});
  b.output("y", DType::float32, {"N", 256});
  return b.bytes();
}

struct Training {
  std::vector<double> losses;
  std::size_t arena = 0;
};

Training train(Precision precision, int threads, std::int64_t batch) {
  Model model =
      prepare(std::span<const std::byte>(perceptron()), {.loss = Loss::mse, .optimizer = Adam{}},
              {.threads = threads, .precision = precision});
  const NamedValues feeds{{"x", random_floats({batch, 256}, 7)},
                          {"label", random_floats({batch, 256}, 8)}};
  Training result;
  for (int step = 0; step < 6; ++step) {
    result.losses.push_back(model.train_step(feeds).scalar("loss"));
  }
  result.arena = model.plan(feeds, 0, std::vector<std::string>{"loss"}).arena_bytes;
  return result;
}

// Nodes between which `waiting` is not read, while larger values are computed of x: to a number r.
void add_large_values(ModelBuilder& b) {
  b.initializer("zeros", Tensor(DType::float32, {depth, wide}));
  b.node("MatMul", "", {"x", "zeros"}, {"p"});
  b.node("Exp", "", {"p"}, {"e"});
  b.node("Sub", "", {"e", "p"}, {"d"});
  b.node("Mul", "", {"d", "p"}, {"s"});
  b.node("ReduceMax", "", {"s"}, {"r"}, {{"keepdims", std::int64_t{0}}});
}

std::size_t casts(const PlanReport& report) {
  return static_cast<std::size_t>(
      std::count_if(report.nodes.begin(), report.nodes.end(),
                    [](const auto& each) { return each.op == "Cast"; }));
}

struct Planned {
  std::vector<float> y;
  std::size_t casts = 0;
};
Planned run(const std::vector<std::byte>& network, Precision precision, int threads = 1) {
  const Model model = Model::load(network, {.threads = threads, .precision = precision});
  const Tensor y = model.infer({{"x", integers({rows, depth}, 1)}})["y"].tensor();
  const auto values = y.values<float>();
  return {{values.begin(), values.end()}, casts(model.plan_report({}))};
}

// h = x w waits for `op`, of h and of w2, and is read before by a sum.
std::vector<std::byte> read_late(const std::string& op, bool viewed) {
  ModelBuilder b("network", 17);
  b.input("x", DType::float32, {rows, depth});
  b.initializer("w", random_floats({depth, cols}, 2));
  b.initializer("w2", integers({cols, narrow}, 3));
  b.initializer("scale", integers({cols}, 3));
  b.initializer("shape", Tensor::of<std::int64_t>({2}, {rows, cols}));
  b.initializer("flat", Tensor::of<std::int64_t>({1}, {rows * cols}));
  b.node("MatMul", "", {"x", "w"}, {"h"});
  b.node("ReduceMean", "", {"h"}, {"m"}, {{"keepdims", std::int64_t{0}}});
  add_large_values(b);
  b.node("Add", "", {"r", "m"}, {"rm"});
  std::string h = "h";
  if (viewed) {
    b.node("Reshape", "", {"h", "flat"}, {"v"});
    b.node("Reshape", "", {"v", "shape"}, {"vv"});
    h = "vv";
  }
  b.node("Add", "", {op == "MatMul" ? "w2" : "scale", "r"}, {"late"});
  b.node(op, "", {h, "late"}, {"q"});
  b.node("Add", "", {"q", "rm"}, {"y"});
  b.output("y", DType::float32, {rows, op == "MatMul" ? narrow : cols});
  return b.bytes();
}

// h = x w + more, in the precision of the sum, is read by Gelu, then by a product of elements, and
// waits for a normalization.
std::vector<std::byte> read_by_gelu() {
  ModelBuilder b("network", 20);
  b.input("x", DType::float32, {rows, depth});
  b.initializer("w", random_floats({depth, cols}, 2));
  b.initializer("scale", integers({cols}, 3));
  b.initializer("more", random_floats({rows, cols}, 4));
  b.node("MatMul", "", {"x", "w"}, {"xw"});
  b.node("Add", "", {"xw", "more"}, {"h"});
  b.node("Gelu", "", {"h"}, {"g"});
  b.node("Mul", "", {"g", "h"}, {"gh"});
  b.node("ReduceMean", "", {"gh"}, {"m"}, {{"keepdims", std::int64_t{0}}});
  add_large_values(b);
  b.node("Add", "", {"r", "m"}, {"rm"});
  b.node("Add", "", {"scale", "r"}, {"late"});
  b.node("LayerNormalization", "", {"h", "late"}, {"q"});
  b.node("Add", "", {"q", "rm"}, {"y"});
  b.output("y", DType::float32, {rows, cols});
  return b.bytes();
}

// h = sigmoid(x w) is read by one product before and by one after.
std::vector<std::byte> read_by_products() {
  ModelBuilder b("network", 17);
  b.input("x", DType::float32, {rows, depth});
  b.initializer("w", random_floats({depth, cols}, 2));
  b.initializer("w2", random_floats({cols, narrow}, 3));
  b.initializer("w3", random_floats({cols, narrow}, 4));
  b.node("MatMul", "", {"x", "w"}, {"g"});
  b.node("Sigmoid", "", {"g"}, {"h"});
  b.node("MatMul", "", {"h", "w3"}, {"first"});
  b.node("ReduceMean", "", {"first"}, {"m"}, {{"keepdims", std::int64_t{0}}});
  add_large_values(b);
  b.node("Add", "", {"r", "m"}, {"rm"});
  b.node("Add", "", {"w2", "r"}, {"late"});
  b.node("MatMul", "", {"h", "late"}, {"q"});
  b.node("Add", "", {"q", "rm"}, {"y"});
  b.output("y", DType::float32, {rows, narrow});
  return b.bytes();
}

bool has_rounding_products() {
  return math::rounds_products(math::simd_tables(Precision::bfloat16));
}

}  // namespace

TEST_CASE("what waits while most memory is used is rounded to bfloat16 under that precision") {
  for (const bool viewed : {false, true}) {
    CAPTURE(viewed);
    const auto full = run(viewed, Precision::float32, 1);
    const auto lower = run(viewed, Precision::bfloat16, 1);
    bool rounded = true;
    bool differs = false;
    for (std::size_t i = 0; i < full.size(); ++i) {
      rounded = rounded && lower[i] == to_float(to_bfloat16(full[i]));
      differs = differs || lower[i] != full[i];
    }
    CHECK(rounded);
    CHECK(differs);
    CHECK(run(viewed, Precision::bfloat16, 3) == lower);
  }
}

TEST_CASE("operators that widen what they read, and products that round it, need no Cast before") {
  for (const bool viewed : {false, true}) {
    for (const char* op : {"LayerNormalization", "MatMul"}) {
      CAPTURE(op, viewed);
      const auto network = read_late(op, viewed);
      const Planned lower = run(network, Precision::bfloat16);
      // The first rounds h.
      const bool widened = std::string(op) == "MatMul" && !has_rounding_products();
      CHECK(lower.casts == (widened ? 2 : 1));
      CHECK(run(network, Precision::bfloat16, 3).y == lower.y);
      const Planned full = run(network, Precision::float32);
      CHECK(full.casts == 0);
      double difference = 0;
      double size = 0;
      for (std::size_t i = 0; i < full.y.size(); ++i) {
        difference = std::max(difference, std::abs(double{full.y[i]} - double{lower.y[i]}));
        size = std::max(size, std::abs(double{full.y[i]}));
      }
      CHECK(difference > 0);
      CHECK(difference < 0.02 * size);
    }
  }
}

TEST_CASE("what only products read that round it is stored in bfloat16 with the same results") {
  if (!has_rounding_products()) return;
  const auto network = read_by_products();
  const Planned lower = run(network, Precision::bfloat16);
  CHECK(lower.casts == 0);
  CHECK(run(network, Precision::bfloat16, 3).y == lower.y);
  const Model model = Model::load(network, {.precision = Precision::bfloat16});
  const PlanReport report = model.plan_report({});
  CHECK(std::any_of(report.nodes.begin(), report.nodes.end(), [](const PlannedOperator& node) {
    return node.op == "Sigmoid" && node.outputs[0].type == "tensor(bfloat16)[1024, 1024]";
  }));
}

TEST_CASE(
    "an operator that copies what it reads saves the Cast, though others read it afterwards") {
  const auto network = read_by_gelu();
  const Fusion gates = fusions_from_name("recognize_gated_activation").front();
  const Model model = Model::load(
      network, {.precision = Precision::bfloat16, .no_fusion = {Fusion::fuse_elementwise, gates}});
  const PlanReport report = model.plan_report({});
  CHECK(casts(report) == 0);
  CHECK(std::any_of(report.nodes.begin(), report.nodes.end(), [](const PlannedOperator& node) {
    return node.op == "Gelu" && node.outputs.size() == 2 &&
           node.outputs[1].type == "tensor(bfloat16)[1024, 1024]";
  }));
  const NamedValues feeds{{"x", integers({rows, depth}, 1)}};
  const Tensor lower = model.infer(feeds)["y"].tensor();
  const Tensor full = Model::load(network).infer(feeds)["y"].tensor();
  double difference = 0;
  for (std::size_t i = 0; i < full.values<float>().size(); ++i) {
    difference =
        std::max(difference, std::abs(double{full.values<float>()[i]} - lower.values<float>()[i]));
  }
  CHECK(difference > 0);
  CHECK(difference < 0.05);
}

TEST_CASE("training under a lower precision keeps activations in half the memory") {
  const Training full = train(Precision::float32, 1, 4096);
  const Training lower = train(Precision::bfloat16, 1, 4096);
  // Products that do not round what they read get a widened copy of it.
  const double most = has_rounding_products() ? 0.75 : 0.85;
  CHECK(static_cast<double>(lower.arena) < most * static_cast<double>(full.arena));
  CHECK(lower.losses.back() < lower.losses.front());
  for (std::size_t i = 0; i < full.losses.size(); ++i) {
    CHECK(std::abs(lower.losses[i] - full.losses[i]) <= 0.01 * full.losses[i]);
  }
  CHECK(train(Precision::bfloat16, 3, 4096).losses == lower.losses);
}

TEST_CASE("small plans keep their activations in float32 under any precision") {
  const Training full = train(Precision::float32, 1, 64);
  const Training lower = train(Precision::bfloat16, 1, 64);
  CHECK(lower.arena <= full.arena + full.arena / 4);
}

}  // namespace ondine::test
