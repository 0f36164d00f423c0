#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

struct Variables {
  std::vector<Tensor> x, g, v, h;
};

// Two variables, one of them long and one in another dtype; squares are positive.
Variables variables(DType second) {
  const auto both = [&](std::uint64_t seed, double low) {
    return std::vector<Tensor>{random_tensor({3, 7000}, seed, low, 2),
                               as_dtype(random_tensor({5}, seed + 1, low, 2), second)};
  };
  return {both(1, -2), both(3, -2), both(5, -2), both(7, 0)};
}

std::vector<Value> inputs(double rate, std::int64_t t, DType rate_type,
                          std::initializer_list<std::vector<Tensor>> groups) {
  std::vector<Value> list{numbers({}, {rate}, rate_type), Tensor::scalar(t)};
  for (const auto& group : groups) list.insert(list.end(), group.begin(), group.end());
  return list;
}

std::vector<Value> run(const std::string& op, std::vector<Value> list, graph::Attributes attributes,
                       std::size_t outputs) {
  return run_op({.op = op,
                 .inputs = std::move(list),
                 .attributes = std::move(attributes),
                 .outputs = outputs,
                 .domain = "ai.onnx.preview.training",
                 .version = 1});
}

Closeness closeness(DType dtype) {
  return dtype == DType::float64 ? Closeness{1e-12, 1e-12} : Closeness{1e-5, 1e-6};
}

// f gives element k of the outputs from {x, g, v, h}.
void check(const std::vector<Value>& outputs, std::size_t k, const Variables& s,
           const std::function<double(double x, double g, double v, double h)>& f) {
  for (std::size_t i = 0; i < 2; ++i) {
    INFO("output " << k << " of variable " << i);
    const DType dtype = s.x[i].dtype();
    const Tensor want = reference(s.x[i].shape(), {s.x[i], s.g[i], s.v[i], s.h[i]},
                                  [&](const auto& a) { return f(a[0], a[1], a[2], a[3]); });
    check_close(outputs[2 * k + i].tensor(), as_dtype(want, dtype), closeness(dtype));
  }
}

}  // namespace

TEST_CASE("Adam follows the standard's formulas") {
  // Coefficients that a float holds exactly.
  const double alpha = 0.875, beta = 0.9375, eps = 0.0625, norm = 0.25, post = 0.125, rate = 0.5;
  for (const std::int64_t t : {0, 1, 5}) {
    for (const DType second : {DType::float32, DType::float64}) {
      const Variables s = variables(second);
      const double td = static_cast<double>(t);
      const double r =
          t > 0 ? rate * std::sqrt(1 - std::pow(beta, td)) / (1 - std::pow(alpha, td)) : rate;
      const auto result = run("Adam", inputs(rate, t, second, {s.x, s.g, s.v, s.h}),
                              {{"alpha", 0.875F},
                               {"beta", 0.9375F},
                               {"epsilon", 0.0625F},
                               {"norm_coefficient", 0.25F},
                               {"norm_coefficient_post", 0.125F}},
                              6);
      const auto v_new = [&](double x, double g, double v, double) {
        return alpha * v + (1 - alpha) * (norm * x + g);
      };
      const auto h_new = [&](double x, double g, double, double h) {
        return beta * h + (1 - beta) * (norm * x + g) * (norm * x + g);
      };
      check(result, 0, s, [&](double x, double g, double v, double h) {
        return (1 - post) * (x - r * v_new(x, g, v, h) / (std::sqrt(h_new(x, g, v, h)) + eps));
      });
      check(result, 1, s, v_new);
      check(result, 2, s, h_new);
    }
  }
}

TEST_CASE("Adagrad follows the standard's formulas") {
  const double decay = 0.5, eps = 0.0625, norm = 0.25, rate = 0.5;
  for (const std::int64_t t : {0, 3}) {
    const Variables s = variables(DType::float32);
    const double r = rate / (1 + static_cast<double>(t) * decay);
    const auto result =
        run("Adagrad", inputs(rate, t, DType::float64, {s.x, s.g, s.h}),
            {{"decay_factor", 0.5F}, {"epsilon", 0.0625F}, {"norm_coefficient", 0.25F}}, 4);
    const auto h_new = [&](double x, double g, double, double h) {
      return h + (norm * x + g) * (norm * x + g);
    };
    check(result, 0, s, [&](double x, double g, double v, double h) {
      return x - r * (norm * x + g) / (std::sqrt(h_new(x, g, v, h)) + eps);
    });
    check(result, 1, s, h_new);
  }
}

TEST_CASE("Momentum follows the standard's formulas") {
  const double alpha = 0.875, norm = 0.25, rate = 0.5;
  for (const std::int64_t t : {0, 3}) {
    for (const bool nesterov : {false, true}) {
      const Variables s = variables(DType::float32);
      const double beta = t > 0 ? 0.75 : 1;
      const auto result = run("Momentum", inputs(rate, t, DType::float32, {s.x, s.g, s.v}),
                              {{"alpha", 0.875F},
                               {"beta", 0.75F},
                               {"norm_coefficient", 0.25F},
                               {"mode", std::string(nesterov ? "nesterov" : "standard")}},
                              4);
      const auto v_new = [&](double x, double g, double v, double) {
        return alpha * v + beta * (norm * x + g);
      };
      check(result, 0, s, [&](double x, double g, double v, double h) {
        const double next = v_new(x, g, v, h);
        return x - rate * (nesterov ? norm * x + g + alpha * next : next);
      });
      check(result, 1, s, v_new);
    }
  }
}

TEST_CASE("An optimizer works when only some new values are wanted") {
  const Variables s = variables(DType::float64);
  const auto list = inputs(0.5, 1, DType::float32, {s.x, s.g, s.v, s.h});
  const auto all = run("Adam", list, {}, 6);
  const auto some = run("Adam", list, {}, 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(some[i].tensor().identical(all[i].tensor()));
}

TEST_CASE("Optimizers reject what does not fit") {
  const Variables s = variables(DType::float64);
  CHECK_THROWS_AS(run("Adam", inputs(0.5, 1, DType::float32, {s.x, s.g, s.v}), {}, 6), Error);
  CHECK_THROWS_AS(run("Adam", inputs(0.5, 1, DType::float32, {s.x, s.g, s.v, s.h}), {}, 7), Error);
  std::vector<Tensor> other = s.g;
  other[0] = random_tensor({3, 7}, 1);
  CHECK_THROWS_AS(run("Adagrad", inputs(0.5, 1, DType::float32, {s.x, other, s.h}), {}, 4), Error);
  CHECK_THROWS_AS(run("Momentum", inputs(0.5, 1, DType::float32, {s.x, s.g, s.v}),
                      {{"alpha", 1.0F}, {"beta", 1.0F}, {"norm_coefficient", 0.0F}}, 4),
                  Error);
  CHECK_THROWS_AS(run("Momentum", inputs(0.5, 1, DType::float32, {s.x, s.g, s.v}),
                      {{"mode", std::string("standard")}, {"alpha", 1.0F}, {"beta", 1.0F}}, 4),
                  Error);
}

TEST_CASE("optimizers have the derivatives of their updates") {
  const Tensor x = random_tensor({4}, 1);
  const Tensor g = random_tensor({4}, 2);
  const Tensor v = random_tensor({4}, 3);
  const Tensor h = random_tensor({4}, 4, 0.5, 2);
  const auto check = [](const std::string& op, std::vector<Value> inputs,
                        graph::Attributes attributes, std::size_t outputs) {
    for (const std::int64_t t : {0, 3}) {
      inputs[1] = Tensor::scalar(t);
      check_gradient({.op = op,
                      .inputs = inputs,
                      .attributes = attributes,
                      .outputs = outputs,
                      .domain = "ai.onnx.preview.training",
                      .version = 1},
                     {.variants = false, .floats = false});
    }
  };
  const Value rate = Tensor::scalar(0.3);
  check("Adam", {rate, {}, x, g, v, h}, {{"norm_coefficient", 0.1F}}, 3);
  check("Adagrad", {rate, {}, x, g, h}, {{"decay_factor", 0.1F}}, 2);
  for (const char* mode : {"standard", "nesterov"}) {
    check(
        "Momentum", {rate, {}, x, g, v},
        {{"alpha", 0.9F}, {"beta", 0.5F}, {"norm_coefficient", 0.1F}, {"mode", std::string(mode)}},
        2);
  }
}
