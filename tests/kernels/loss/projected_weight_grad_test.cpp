// The derivative of the loss of a product by its matrix, and updates by it: against the products
// of all scores.
#include <catch2/catch.hpp>
#include <cstring>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr std::int64_t ignored = -5;
constexpr const char* own = "ai.ondine";

// A head and what its loss gives.
struct Head {
  Shape rows;  // [..., depth]
  std::int64_t classes = 0;
  bool transposed = false;
  std::string reduction = "mean";
  bool ignoring = false;
  DType dtype = DType::float64;

  std::int64_t depth() const { return *(rows.end() - 1); }
  Shape shape_of_w() const {
    return transposed ? Shape{classes, depth()} : Shape{depth(), classes};
  }
  Tensor random(const Shape& shape, std::uint64_t seed) const {
    return dtype == DType::float64 ? random_tensor(shape, seed) : random_floats(shape, seed);
  }
  Value one() const { return dtype == DType::float64 ? Tensor::scalar(0.7) : Tensor::scalar(0.7F); }

  Value h = random(rows, 1);
  Value w = random(shape_of_w(), 2);
  Value labels = some_labels();
  Value dloss = one();

  // Every third label is ignored where some are.
  Tensor some_labels() const {
    Tensor t(DType::int64, Shape(std::vector<std::int64_t>(rows.begin(), rows.end() - 1)));
    auto values = t.mutable_values<std::int64_t>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      values[i] = ignoring && number % 3 == 1 ? ignored : (number * 7 + 1) % classes;
    }
    return t;
  }
  graph::Attributes attributes() const {
    graph::Attributes result{{"reduction", reduction}, {"ignore_index", ignored}};
    if (transposed) result.emplace_back("transposed", 1L);
    return result;
  }
  // Attributes of an update by an optimizer.
  graph::Attributes update(const char* optimizer, std::int64_t gradient, std::int64_t like) const {
    graph::Attributes result = attributes();
    result.emplace_back("optimizer", std::string(optimizer));
    result.emplace_back("gradient", gradient);
    result.emplace_back("like", like);
    return result;
  }
  Value logarithms() const {
    return run_op({"ProjectedCrossEntropy", {h, labels, w}, attributes(), 3, own})[2];
  }
  OpCase gradient() const {
    return {"ProjectedWeightGrad", {dloss, h, w, labels, logarithms()}, attributes(), 1, own};
  }
  void describe() const {
    UNSCOPED_INFO(rows.to_string() << " " << classes << " " << transposed << reduction << ignoring);
  }
};

// The derivative by products with the scores of all rows.
Tensor whole_gradient(const Head& head) {
  const Tensor h = head.h.tensor();
  const std::int64_t count = h.size() / head.depth();
  const Tensor rows = h.reshaped({count, head.depth()});
  const Tensor labels = head.labels.tensor().reshaped({count});
  graph::Attributes attributes{{"reduction", head.reduction}, {"ignore_index", ignored}};
  const Tensor scores =
      run_op_tensor({"Gemm", {rows, head.w}, {{"transB", head.transposed ? 1L : 0L}}});
  const auto loss = run_op({"SoftmaxCrossEntropyLoss", {scores, labels}, attributes, 2});
  const Tensor dscores = run_op_tensor(
      {"SoftmaxCrossEntropyLossGrad", {head.dloss, loss[1], labels}, attributes, 1, own});
  const Value& a = head.transposed ? Value(dscores) : Value(rows);
  const Value& b = head.transposed ? Value(rows) : Value(dscores);
  return run_op_tensor({"Gemm", {a, b}, {{"transA", 1L}}});
}

void check_same_bits(const std::vector<Value>& got, const std::vector<Value>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Tensor& one = got[k].tensor();
    REQUIRE(one.bytes() == want[k].tensor().bytes());
    CHECK(std::memcmp(one.data(), want[k].tensor().data(), one.bytes()) == 0);
  }
}

constexpr const char* reductions[] = {"sum", "mean"};

// Fewer rows and classes than are computed at once, more, and last parts of one.
const std::vector<std::pair<Shape, std::int64_t>> sizes{
    {{5, 3}, 7}, {{2, 9, 4}, 33}, {{257, 2}, 513}, {{300, 20}, 1100}, {{1, 1}, 1}};

}  // namespace

TEST_CASE("the derivative of a head's loss by its matrix is that by all scores") {
  for (const auto& [rows, classes] : sizes) {
    for (const bool transposed : {false, true}) {
      for (const char* const reduction : reductions) {
        for (const bool ignoring : {false, true}) {
          const Head head{rows, classes, transposed, reduction, ignoring};
          head.describe();
          check_close(run_op_tensor(head.gradient()), whole_gradient(head), {1e-9, 1e-12});
          const Head single{rows, classes, transposed, reduction, ignoring, DType::float32};
          check_close(run_op_tensor(single.gradient()), whole_gradient(single), {1e-4, 1e-5});
        }
      }
    }
  }
}

TEST_CASE("the derivative by a head's matrix has derivatives, to the second order") {
  for (const bool transposed : {false, true}) {
    for (const bool ignoring : {false, true}) {
      for (const char* const reduction : reductions) {
        const Head head{{2, 3, 2}, 5, transposed, reduction, ignoring};
        check_gradient(head.gradient(), {.variants = false});
      }
    }
  }
}

TEST_CASE("where no label counts, the derivative by a head's matrix is 0") {
  Head head{{3, 2}, 600, true, "sum"};
  head.labels = Tensor::of<std::int64_t>({3}, {ignored, ignored, ignored});
  check_close(run_op_tensor(head.gradient()), Tensor(DType::float64, {600, 2}), {0, 0});
}

TEST_CASE(
    "ProjectedUpdate by Adam has the bits of the derivative, a lookup's, Adam and SgdUpdate") {
  const graph::Attributes adam{{"alpha", 0.8F}, {"beta", 0.9F}, {"norm_coefficient", 0.1F}};
  const auto& [rows, classes] = GENERATE(from_range(sizes));
  const bool transposed = GENERATE(false, true);
  const bool lookup = GENERATE(false, true) && transposed;
  const bool decays = GENERATE(false, true);
  const Head head{rows, classes, transposed, "mean", true, DType::float32};
  head.describe();
  const Value rate = Tensor::scalar(0.3F);
  const Value count = Tensor::scalar(std::int64_t{3});
  const Value v = random_floats(head.shape_of_w(), 3);
  const Value h = random_floats(head.shape_of_w(), 4, 0, 1);
  const Value dy = random_floats({4, head.depth()}, 5);
  const Value indices = Tensor::of<std::int64_t>({4}, {classes - 1, 0, -1, classes / 2});
  const Value decay = Tensor::scalar(0.01F);
  std::vector<Value> inputs{lookup ? dy : Value(), lookup ? indices : Value(),
                            decays ? decay : Value()};
  const std::vector<Value> sources{head.dloss, head.h, head.labels, head.logarithms()};
  inputs.insert(inputs.end(), sources.begin(), sources.end());
  inputs.insert(inputs.end(), {rate, count, head.w, v, h});
  graph::Attributes attributes = head.update("Adam", 3, 9);
  attributes.insert(attributes.end(), adam.begin(), adam.end());
  const auto fused = run_op({"ProjectedUpdate", inputs, attributes, 3, own});
  Value g = run_op(head.gradient())[0];
  if (lookup) {
    const Value shape = Tensor::of<std::int64_t>({2}, {classes, head.depth()});
    g = run_op({.op = "GatherGrad", .inputs = {dy, indices, shape, g}, .domain = own})[0];
  }
  auto separate = run_op({.op = "Adam",
                          .inputs = {rate, count, head.w, g, v, h},
                          .attributes = adam,
                          .outputs = 3,
                          .domain = "ai.onnx.preview.training",
                          .version = 1});
  if (decays) {
    separate[0] =
        run_op({.op = "SgdUpdate", .inputs = {separate[0], head.w, decay}, .domain = own})[0];
  }
  check_same_bits(fused, separate);
  check_same_bits(run_op({"ProjectedUpdate", inputs, attributes, 1, own}), {separate[0]});
}

TEST_CASE("ProjectedUpdate by SgdUpdate has the bits of the derivative and SgdUpdate") {
  for (const auto& [rows, classes] : sizes) {
    for (const bool transposed : {false, true}) {
      const Head head{rows, classes, transposed, "sum", true, DType::float32};
      head.describe();
      const Value rate = Tensor::scalar(0.3F);
      const auto fused = run_op({"ProjectedUpdate",
                                 {Value(), Value(), Value(), head.dloss, head.h, head.labels,
                                  head.logarithms(), head.w, rate},
                                 head.update("SgdUpdate", 1, 7),
                                 1,
                                 own});
      const Value g = run_op(head.gradient())[0];
      check_same_bits(fused,
                      run_op({.op = "SgdUpdate", .inputs = {head.w, g, rate}, .domain = own}));
    }
  }
}

TEST_CASE("the derivatives of updates by a head's loss are those of their expansions") {
  const Head head{{4, 2}, 5, true, "mean", true};
  const Value count = Tensor::scalar(std::int64_t{2});
  check_gradient(
      {"ProjectedUpdate",
       {random_tensor({2, 2}, 7), Tensor::of<std::int64_t>({2}, {2, 0}), random_tensor({}, 8),
        head.dloss, head.h, head.labels, head.logarithms(), random_tensor({}, 1), count, head.w,
        random_tensor({5, 2}, 3), random_tensor({5, 2}, 4, 0.5, 1.5)},
       head.update("Adam", 3, 9),
       3,
       own},
      {.variants = false, .floats = false});
  check_gradient({"ProjectedUpdate",
                  {Value(), Value(), Value(), head.dloss, head.h, head.labels, head.logarithms(),
                   head.w, random_tensor({}, 1)},
                  head.update("SgdUpdate", 1, 7),
                  1,
                  own},
                 {.variants = false});
}

TEST_CASE("the derivative by a head's matrix refuses what does not fit") {
  const Head head{{3, 2}, 4};
  OpCase wrong = head.gradient();
  wrong.inputs[3] = Tensor::of<std::int64_t>({3}, {0, 4, 1});
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("label 4 at position 1"));
  wrong = head.gradient();
  wrong.inputs[4] = random_tensor({2}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("logarithms and labels"));
  wrong.inputs[4] = random_tensor({3, 1}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("do not fit labels"));
  wrong = head.gradient();
  wrong.inputs[0] = random_tensor({2}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("needed: one number"));
}

}  // namespace ondine::test
