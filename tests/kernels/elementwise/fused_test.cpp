// The operators that fusion passes put into training graphs, against what they stand for.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "graph/contract/catalogue.h"
#include "tests/kernels/norm/batch_normalization_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);

}  // namespace

TEST_CASE("ReluGrad lets through what is above zero, ClipGrad what is within the bounds") {
  const Tensor dy = Tensor::of<float>({5}, {1, 2, 3, 4, 5});
  const Tensor x = Tensor::of<float>({5}, {-1, 0, 0.5F, 6, 7});
  check_close(run_op_tensor({.op = "ReluGrad", .inputs = {dy, x}, .domain = domain}),
              Tensor::of<float>({5}, {0, 0, 3, 4, 5}));
  check_close(run_op_tensor({.op = "ClipGrad",
                             .inputs = {dy, x},
                             .attributes = {{"low", 0.0F}, {"high", 6.0F}},
                             .domain = domain}),
              Tensor::of<float>({5}, {0, 2, 3, 4, 0}));
  check_close(
      run_op_tensor(
          {.op = "ClipGrad", .inputs = {dy, x}, .attributes = {{"high", 6.0F}}, .domain = domain}),
      Tensor::of<float>({5}, {1, 2, 3, 4, 0}));
}

TEST_CASE("the derivatives of the fused gradients are those of their expansions") {
  check_gradient({.op = "ReluGrad",
                  .inputs = {random_tensor({3, 4}, 1), random_tensor({3, 4}, 2)},
                  .domain = domain});
  check_gradient({.op = "ClipGrad",
                  .inputs = {random_tensor({3, 4}, 3), random_tensor({3, 4}, 4)},
                  .attributes = {{"low", -1.0F}, {"high", 1.0F}},
                  .domain = domain});
}

TEST_CASE("SgdUpdate takes a step of gradient descent") {
  const Tensor rate = Tensor::scalar(0.5F);
  const Tensor w = random_floats({37, 19}, 5);
  const Tensor g = random_floats({37, 19}, 6);
  const Tensor next = run_op_tensor({.op = "SgdUpdate", .inputs = {w, g, rate}, .domain = domain});
  for (std::size_t i = 0; i < 37 * 19; ++i) {
    CHECK(next.values<float>()[i] ==
          Approx(w.values<float>()[i] - 0.5F * g.values<float>()[i]).margin(1e-6));
  }
}

namespace {

// m' = m / 2 + g;  w' = w - rate m' / (sqrt(g g) + -(-rate))
OpCase small_fused(std::vector<Value> inputs, std::size_t outputs = 2) {
  return {.op = "FusedElementwise",
          .inputs = std::move(inputs),
          .attributes = {{"ops", std::vector<std::string>{"Div", "Add", "Mul", "Sqrt", "Neg", "Neg",
                                                          "Add", "Mul", "Div", "Sub"}},
                         {"operands", std::vector<std::int64_t>{1, 4, 5, 2,  2, 2, 7,  7,  3, 3,
                                                                9, 9, 8, 10, 3, 6, 12, 11, 0, 13}},
                         {"results", std::vector<std::int64_t>{9, 1}}},
          .outputs = outputs,
          .domain = domain};
}

}  // namespace

TEST_CASE("a FusedElementwise is what its operators are one after the other") {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{700}}) {
    const Tensor w = random_floats({2, n}, 1);
    const Tensor m = random_floats({2, n}, 2);
    const Tensor g = random_floats({2, n}, 3);
    const auto got = run_op(small_fused({w, m, g, Tensor::scalar(0.25F), Tensor::scalar(2.0F)}));
    for (std::size_t i = 0; i < static_cast<std::size_t>(2 * n); ++i) {
      const double next = m.values<float>()[i] / 2.0 + g.values<float>()[i];
      CHECK(got[1].tensor().item<float>(i) == Approx(next).margin(1e-6));
      const double size = std::abs(g.values<float>()[i]) + 0.25;
      CHECK(got[0].tensor().item<float>(i) ==
            Approx(w.values<float>()[i] - 0.25 * next / size).margin(1e-5));
    }
  }
}

TEST_CASE("the derivative of a FusedElementwise is that of its operators") {
  check_gradient(small_fused({random_tensor({3, 4}, 1), random_tensor({3, 4}, 2),
                              random_tensor({3, 4}, 3), Tensor::scalar(0.5), Tensor::scalar(2.0)}),
                 {.variants = false});
}

TEST_CASE("a FusedElementwise names the step that it cannot have") {
  const Tensor x = random_floats({4}, 1);
  const auto rejects = [&](graph::Attributes attributes, const std::string& message) {
    CHECK_THROWS_WITH(run_op({.op = "FusedElementwise",
                              .inputs = {x, x},
                              .attributes = attributes,
                              .domain = domain}),
                      Catch::Contains(message));
  };
  const auto formula = [](const std::string& op, std::int64_t right, std::int64_t result) {
    return graph::Attributes{{"ops", std::vector<std::string>{op}},
                             {"operands", std::vector<std::int64_t>{0, right}},
                             {"results", std::vector<std::int64_t>{result}}};
  };
  CHECK_NOTHROW(run_op({.op = "FusedElementwise",
                        .inputs = {x, x},
                        .attributes = formula("Mul", 1, 0),
                        .domain = domain}));
  rejects(formula("Conv", 1, 0), "'Conv'");
  rejects(formula("Mul", 2, 0), "operand 2");
  rejects(formula("Mul", -1, 0), "operand -1");
  rejects(formula("Mul", 1, 1), "no step 1");
  rejects({{"ops", std::vector<std::string>{"Mul"}},
           {"operands", std::vector<std::int64_t>{0, 1}},
           {"results", std::vector<std::int64_t>{0, 0}}},
          "listed twice");
  CHECK_THROWS_WITH(run_op({.op = "FusedElementwise",
                            .inputs = {x, Value(), x},
                            .attributes = formula("Mul", 2, 0),
                            .domain = domain}),
                    Catch::Contains("input 1 of a FusedElementwise is missing"));
  rejects({}, "0 steps");
  rejects({{"ops", std::vector<std::string>(31, "Add")}}, "31 steps");
}

TEST_CASE("the derivatives of the steps are those of their expansions") {
  check_gradient(
      {.op = "SgdUpdate",
       .inputs = {random_tensor({3, 4}, 1), random_tensor({3, 4}, 2), random_tensor({}, 3)},
       .domain = domain},
      {.variants = false});
}

namespace {

graph::Attributes activation_attributes(bool relu) {
  if (relu) return {{"relu", std::int64_t{1}}};
  return {{"low", -0.25F}, {"high", 0.5F}};
}

}  // namespace

TEST_CASE("BatchNormalizationActivation bounds the normalized values, and a sum with them") {
  for (const bool train : {false, true}) {
    for (const bool relu : {false, true}) {
      for (const bool added : {false, true}) {
        Normalization norm;
        const auto plain = norm.run(train);
        const Tensor addend = random_tensor({2, 3, 4, 4}, 5);
        if (added) norm.inputs.emplace_back(addend);
        graph::Attributes attributes = activation_attributes(relu);
        attributes.emplace_back("training_mode", std::int64_t{train});
        const auto fused = run_op({.op = "BatchNormalizationActivation",
                                   .inputs = norm.inputs,
                                   .attributes = attributes,
                                   .outputs = 5,
                                   .domain = domain});
        Tensor want = plain[0].tensor();
        for (std::size_t i = 0; i < 96; ++i) {
          double& v = want.mutable_values<double>()[i];
          if (added) v += addend.values<double>()[i];
          v = relu ? std::max(v, 0.0) : std::clamp(v, -0.25, 0.5);
        }
        check_close(fused[0].tensor(), want);
        for (std::size_t k = 1; k < 5; ++k) {
          CHECK(fused[k].tensor().identical(plain[k].tensor()));
        }
      }
    }
  }
}

TEST_CASE("BatchNormalizationActivationGrad is the derivative of what it stands for") {
  for (const bool train : {false, true}) {
    for (const bool relu : {false, true}) {
      const Normalization norm;
      const auto plain = norm.run(train);
      const Tensor dy = random_tensor({2, 3, 4, 4}, 6);
      Tensor kept = dy;
      for (std::size_t i = 0; i < 96; ++i) {
        const double v = plain[0].tensor().item<double>(i);
        const bool counts = relu ? v > 0 : v >= -0.25 && v <= 0.5;
        if (!counts) kept.mutable_values<double>()[i] = 0;
      }
      const std::int64_t constant = train ? 0 : 1;
      std::vector<Value> inputs{kept, norm.inputs[0], norm.inputs[1], plain[3], plain[4]};
      const auto want = run_op({.op = "BatchNormalizationGrad",
                                .inputs = inputs,
                                .attributes = {{"constant_statistics", constant}},
                                .outputs = 3,
                                .domain = domain});
      inputs[0] = dy;
      inputs.push_back(norm.inputs[2]);
      graph::Attributes attributes = activation_attributes(relu);
      attributes.emplace_back("constant_statistics", constant);
      const auto got = run_op({.op = "BatchNormalizationActivationGrad",
                               .inputs = inputs,
                               .attributes = attributes,
                               .outputs = 3,
                               .domain = domain});
      for (std::size_t k = 0; k < 3; ++k) check_close(got[k].tensor(), want[k].tensor());
      check_gradient({.op = "BatchNormalizationActivationGrad",
                      .inputs = inputs,
                      .attributes = attributes,
                      .outputs = 3,
                      .domain = domain},
                     {.variants = false});
    }
  }
}

TEST_CASE("derivatives of BatchNormalizationActivation are those of its expansion") {
  for (const bool relu : {false, true}) {
    Normalization norm;
    norm.inputs.emplace_back(random_tensor({2, 3, 4, 4}, 5));
    graph::Attributes attributes = activation_attributes(relu);
    attributes.emplace_back("training_mode", std::int64_t{1});
    check_gradient({.op = "BatchNormalizationActivation",
                    .inputs = norm.inputs,
                    .attributes = attributes,
                    .outputs = 3,
                    .domain = domain},
                   {.variants = false});
  }
}

TEST_CASE("ConvActivation and GemmActivation bound what Conv and Gemm give") {
  // Shapes of each way in which convolutions are computed: pointwise, depthwise, small, general.
  struct Shapes {
    Shape x, w;
    std::int64_t group, stride;
  };
  const std::vector<Shapes> convolutions{
      {{2, 5, 9, 9}, {7, 5, 1, 1}, 1, 1},    {{2, 6, 9, 9}, {6, 1, 3, 3}, 6, 1},
      {{1, 4, 40, 40}, {4, 1, 3, 3}, 4, 1},  {{2, 4, 12, 12}, {6, 4, 3, 3}, 1, 1},
      {{2, 32, 8, 8}, {32, 32, 3, 3}, 1, 1}, {{2, 32, 8, 8}, {20, 32, 3, 3}, 1, 2},
      {{0, 4, 4, 4}, {4, 4, 1, 1}, 1, 1}};
  for (const std::string name : {"Relu", "Relu6"}) {
    const auto bounded = [&](Tensor y) {
      for (float& v : y.mutable_values<float>()) {
        v = std::clamp(v, 0.0F, name == "Relu" ? std::numeric_limits<float>::infinity() : 6.0F);
      }
      return y;
    };
    const auto compare = [&](OpCase plain) {
      const Tensor want = bounded(run_op_tensor(plain));
      plain.op += "Activation";
      plain.domain = domain;
      plain.attributes.emplace_back("activation", name);
      CHECK(run_op_tensor(plain).identical(want));
    };
    for (const Shapes& s : convolutions) {
      compare({.op = "Conv",
               .inputs = {random_floats(s.x, 1, -4, 4), random_floats(s.w, 2),
                          random_floats({s.w[0]}, 3)},
               .attributes = {{"group", s.group},
                              {"strides", std::vector<std::int64_t>{s.stride, s.stride}}}});
    }
    for (const Shape& c : {Shape{17}, Shape{9, 1}, Shape{9, 17}}) {
      compare({.op = "Gemm",
               .inputs = {random_floats({9, 300}, 1), random_floats({300, 17}, 2),
                          random_floats(c, 3)}});
    }
  }
  CHECK_THROWS_WITH(run_op_tensor({.op = "GemmActivation",
                                   .inputs = {random_floats({2, 2}, 1), random_floats({2, 2}, 2)},
                                   .attributes = {{"activation", std::string("Selu")}},
                                   .domain = domain}),
                    Catch::Contains("Selu"));
}

TEST_CASE("the derivatives of ConvActivation and GemmActivation are those of their expansions") {
  for (const std::string name : {"Relu", "Relu6"}) {
    check_gradient({.op = "ConvActivation",
                    .inputs = {random_tensor({2, 3, 4, 4}, 1), random_tensor({2, 3, 3, 3}, 2),
                               random_tensor({2}, 3)},
                    .attributes = {{"activation", name}},
                    .domain = domain},
                   {.variants = false});
    check_gradient(
        {.op = "GemmActivation",
         .inputs = {random_tensor({3, 4}, 1), random_tensor({4, 2}, 2), random_tensor({2}, 3)},
         .attributes = {{"activation", name}},
         .domain = domain},
        {.variants = false});
  }
}

}  // namespace ondine::test
