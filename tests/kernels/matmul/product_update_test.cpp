// GemmUpdate: an optimizer by a gradient that is computed strip by strip.
#include <cstring>

#include <catch2/catch.hpp>

#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr const char* own = "ai.ondine";

// An optimizer and its inputs but the gradient, which is number `gradient` of them.
struct Optimizer {
  const char* op;
  std::string domain;
  graph::Attributes attributes;
  std::size_t outputs = 0;
  std::size_t gradient = 3;
  std::size_t like = 2;  // of the inputs here, the variable

  bool has_means() const { return std::string_view(op) == "Adam"; }
};

Optimizer standard(const char* op, graph::Attributes attributes, std::size_t outputs) {
  return {op, "ai.onnx.preview.training", std::move(attributes), outputs};
}

// v' = alpha v + g;  x' = x - rate (v' + x)
Optimizer composed() {
  const std::vector<std::string> ops{"Mul", "Add", "Add", "Mul", "Sub"};
  const std::vector<std::int64_t> operands{3, 1, 5, 4, 6, 0, 7, 2, 0, 8};
  return {.op = "FusedElementwise",
          .domain = own,
          .attributes = {{"ops", ops},
                         {"operands", operands},
                         {"results", std::vector<std::int64_t>{4, 1}}},
          .outputs = 2,
          .gradient = 4,
          .like = 0};
}

std::vector<Optimizer> optimizers() {
  return {standard("Adam", {{"alpha", 0.8F}, {"beta", 0.9F}, {"norm_coefficient", 0.1F}}, 3),
          standard("Momentum",
                   {{"alpha", 0.8F},
                    {"beta", 0.9F},
                    {"norm_coefficient", 0.1F},
                    {"mode", std::string("nesterov")}},
                   2),
          standard("Adagrad", {{"decay_factor", 0.1F}, {"epsilon", 1e-4F}}, 2), composed()};
}

struct Step {
  Optimizer optimizer;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t terms = 0;
  bool trans_a = false;
  bool lookup = false;
  Value decay = {};

  Value a = random_floats(trans_a ? Shape{terms, rows} : Shape{rows, terms}, 4);
  Value b = random_floats({terms, cols}, 5);
  Value dy = random_floats({4, cols}, 6);
  Value indices = Tensor::of<std::int64_t>({4}, {rows - 1, 0, -1, rows / 2});

  graph::Attributes product() const { return {{"transA", std::int64_t{trans_a}}}; }

  std::vector<Value> others() const {
    const Value rate = Tensor::scalar(0.3F);
    const Value x = random_floats({rows, cols}, 1), v = random_floats({rows, cols}, 2);
    if (optimizer.domain == own) return {x, v, rate, Tensor::scalar(0.9F)};
    std::vector<Value> inputs{rate, Tensor::scalar(std::int64_t{3}), x};
    if (optimizer.has_means()) inputs.push_back(v);
    inputs.push_back(random_floats({rows, cols}, 3, 0, 1));
    return inputs;
  }
  std::vector<Value> fused() const {
    std::vector<Value> inputs{lookup ? dy : Value(), lookup ? indices : Value(), decay, a, b};
    for (const Value& each : others()) inputs.push_back(each);
    graph::Attributes attributes = optimizer.attributes;
    attributes.emplace_back("transA", std::int64_t{trans_a});
    attributes.emplace_back("optimizer", std::string(optimizer.op));
    attributes.emplace_back("gradient", static_cast<std::int64_t>(optimizer.gradient));
    attributes.emplace_back("like", static_cast<std::int64_t>(5 + optimizer.like));
    return run_op({.op = "GemmUpdate",
                   .inputs = inputs,
                   .attributes = attributes,
                   .outputs = optimizer.outputs,
                   .domain = own});
  }
  std::vector<Value> separate() const {
    Value g = run_op({.op = "Gemm", .inputs = {a, b}, .attributes = product()})[0];
    if (lookup) {
      const Value shape = Tensor::of<std::int64_t>({2}, {rows, cols});
      g = run_op({.op = "GatherGrad", .inputs = {dy, indices, shape, g}, .domain = own})[0];
    }
    std::vector<Value> inputs = others();
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(optimizer.gradient), g);
    std::vector<Value> results = run_op({.op = optimizer.op,
                                         .inputs = inputs,
                                         .attributes = optimizer.attributes,
                                         .outputs = optimizer.outputs,
                                         .domain = optimizer.domain,
                                         .version = 1});
    if (decay.is_tensor()) {
      const Value x = others()[optimizer.like];
      results[0] = run_op({.op = "SgdUpdate", .inputs = {results[0], x, decay}, .domain = own})[0];
    }
    return results;
  }
};

void check_same_bits(const Step& step) {
  CAPTURE(step.optimizer.op, step.rows, step.cols, step.terms, step.trans_a, step.lookup);
  const auto got = step.fused();
  const auto want = step.separate();
  for (std::size_t k = 0; k < step.optimizer.outputs; ++k) {
    const Tensor& one = got[k].tensor();
    REQUIRE(one.bytes() == want[k].tensor().bytes());
    CHECK(std::memcmp(one.data(), want[k].tensor().data(), one.bytes()) == 0);
  }
}

}  // namespace

TEST_CASE("GemmUpdate has the bits of a product, a lookup's derivative and Adam, in any strips") {
  const Optimizer adam = optimizers()[0];
  // One strip, one for each thread, and several, the last of which has fewer rows.
  for (const std::int64_t rows : {std::int64_t{5}, std::int64_t{700}, std::int64_t{2690},
                                  std::int64_t{10850}, std::int64_t{16200}}) {
    for (const bool trans_a : {false, true}) {
      for (const bool lookup : {false, true}) {
        check_same_bits({adam, rows, 192, 37, trans_a, lookup});
      }
    }
  }
  // Strips of 48 rows would leave one of a single row.
  check_same_bits({adam, 97, 30000, 20, true, true});
}

TEST_CASE("GemmUpdate has the bits of any optimizer after a product") {
  for (const Optimizer& optimizer : optimizers()) {
    for (const bool lookup : {false, true})
      check_same_bits({optimizer, 2690, 192, 37, true, lookup});
  }
}

namespace {

OpCase descent(const Tensor& w, const Tensor& a, const Tensor& b, const Tensor& rate,
               graph::Attributes attributes = {}) {
  attributes.emplace_back("optimizer", std::string("SgdUpdate"));
  attributes.emplace_back("gradient", std::int64_t{1});
  attributes.emplace_back("like", std::int64_t{5});
  return {.op = "GemmUpdate",
          .inputs = {Value(), Value(), Value(), a, b, w, rate},
          .attributes = std::move(attributes),
          .domain = own};
}

}  // namespace

TEST_CASE("GemmUpdate by SgdUpdate takes a step down the product, thin or thick") {
  const Tensor rate = Tensor::scalar(0.5F), w = random_floats({37, 19}, 5);
  for (const std::int64_t k : {std::int64_t{1}, std::int64_t{3}, std::int64_t{40}}) {
    const Tensor a = random_floats({37, k}, 7), b = random_floats({k, 19}, 8);
    const Tensor g = run_op_tensor({.op = "Gemm", .inputs = {a, b}});
    const Tensor want = run_op_tensor({.op = "SgdUpdate", .inputs = {w, g, rate}, .domain = own});
    check_close(run_op_tensor(descent(w, a, b, rate)), want, {1e-4, 1e-4});
  }
}

TEST_CASE("GemmUpdate transposes its factors") {
  const Tensor w = Tensor::of<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  const Tensor a = Tensor::of<float>({1, 2}, {1, 2}), b = Tensor::of<float>({3, 1}, {3, 4, 5});
  const graph::Attributes both{{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}};
  check_close(run_op_tensor(descent(w, a, b, Tensor::scalar(1.0F), both)),
              Tensor::of<float>({2, 3}, {-3, -4, -5, -6, -8, -10}));
}

TEST_CASE("GemmUpdate takes a decay of the old variable off the new one") {
  for (const Optimizer& optimizer : optimizers()) {
    if (optimizer.domain == own) continue;
    check_same_bits({optimizer, 700, 192, 37, true, true, Tensor::scalar(0.01F)});
  }
}

TEST_CASE("GemmUpdate may leave out new values of states") {
  for (const Optimizer& optimizer : optimizers()) {
    Optimizer alone = optimizer;
    alone.outputs = 1;
    check_same_bits({alone, 700, 192, 37, true, true});
  }
}

TEST_CASE("the derivatives of GemmUpdate are those of its expansion") {
  const Value count = Tensor::scalar(std::int64_t{2});
  const Tensor a = random_tensor({3, 2}, 5), b = random_tensor({2, 4}, 6);
  const Tensor dy = random_tensor({2, 4}, 7), indices = Tensor::of<std::int64_t>({2}, {2, 0});
  for (const Optimizer& optimizer : optimizers()) {
    CAPTURE(optimizer.op);
    graph::Attributes attributes = optimizer.attributes;
    attributes.emplace_back("optimizer", std::string(optimizer.op));
    attributes.emplace_back("gradient", static_cast<std::int64_t>(optimizer.gradient));
    attributes.emplace_back("like", static_cast<std::int64_t>(5 + optimizer.like));
    const Tensor x = random_tensor({3, 4}, 2), positive = random_tensor({3, 4}, 4, 0.5, 1.5);
    const Tensor rate = random_tensor({}, 1);
    const Value decay = optimizer.domain == own ? Value() : Value(random_tensor({}, 9));
    std::vector<Value> inputs{dy, indices, decay, a, b};
    if (optimizer.domain == own) {
      inputs.insert(inputs.end(), {x, positive, rate, random_tensor({}, 8)});
    } else {
      inputs.insert(inputs.end(), {rate, count, x});
      if (optimizer.has_means()) inputs.push_back(random_tensor({3, 4}, 3));
      inputs.push_back(positive);
    }
    check_gradient({.op = "GemmUpdate",
                    .inputs = inputs,
                    .attributes = attributes,
                    .outputs = optimizer.outputs,
                    .domain = own},
                   {.variants = false, .floats = false});
  }
  check_gradient(descent(random_tensor({3, 4}, 1), a, b, random_tensor({}, 4)),
                 {.variants = false});
}

TEST_CASE("GemmUpdate rejects attributes that name no update") {
  const Step good{optimizers()[0], 3, 4, 2};
  const auto rejects = [&](const char* name, graph::Attribute::Data value, const char* message) {
    Step step = good;
    graph::Attributes attributes{{"optimizer", std::string("Adam")},
                                 {"gradient", std::int64_t{3}},
                                 {"like", std::int64_t{7}}};
    for (graph::Attribute& each : attributes) {
      if (each.name == name) each.data = std::move(value);
    }
    std::vector<Value> inputs{Value(), Value(), Value(), step.a, step.b};
    for (const Value& each : step.others()) inputs.push_back(each);
    CHECK_THROWS_WITH(run_op({.op = "GemmUpdate",
                              .inputs = inputs,
                              .attributes = attributes,
                              .outputs = 3,
                              .domain = own}),
                      Catch::Contains(message));
  };
  rejects("optimizer", std::string("Relu"), "operator 'Relu' does not update a variable");
  rejects("optimizer", std::string("Momentum"), "has 6 inputs, needed: 5");
  rejects("optimizer", std::string("SgdUpdate"), "has 6 inputs, needed: 3");
  rejects("gradient", std::int64_t{6}, "attribute 'gradient' is 6");
  rejects("gradient", std::int64_t{-1}, "attribute 'gradient' is -1");
  rejects("like", std::int64_t{1}, "attribute 'like' is 1");
  rejects("like", std::int64_t{99}, "attribute 'like' is 99");
}

}  // namespace ondine::test
