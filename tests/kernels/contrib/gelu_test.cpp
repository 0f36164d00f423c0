#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

template <class F>
Tensor mapped(const Tensor& x, const Tensor& bias, F f) {
  std::vector<double> values;
  const auto xs = as_doubles(x);
  const auto bs = as_doubles(bias);
  for (std::size_t i = 0; i < xs.size(); ++i) values.push_back(f(xs[i] + bs[i % bs.size()]));
  return Tensor::of<double>(x.shape(), values);
}

double exact(double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; }
double by_tanh(double x) {
  return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
}

}  // namespace

TEST_CASE("The Gelus of com.microsoft") {
  const Tensor x = random_tensor({2, 3, 4}, 1, -3, 3);
  const Tensor bias = random_tensor({4}, 2);
  const Tensor zero = Tensor::of<double>({1}, {0});
  check_close(run_op_tensor({"Gelu", {x}, {}, 1, contrib}), mapped(x, zero, exact));
  check_close(run_op_tensor({"BiasGelu", {x, bias}, {}, 1, contrib}), mapped(x, bias, exact));
  check_close(run_op_tensor({"FastGelu", {x}, {}, 1, contrib}), mapped(x, zero, by_tanh));
  check_close(run_op_tensor({"FastGelu", {x, bias}, {}, 1, contrib}), mapped(x, bias, by_tanh));
  const auto quick = [](double alpha) {
    return [alpha](double v) { return v / (1 + std::exp(-alpha * v)); };
  };
  check_close(run_op_tensor({"QuickGelu", {x}, {}, 1, contrib}), mapped(x, zero, quick(1.702F)));
  check_close(run_op_tensor({"QuickGelu", {x}, {{"alpha", 0.5F}}, 1, contrib}),
              mapped(x, zero, quick(0.5)));
}

TEST_CASE("Derivatives of the Gelus of com.microsoft") {
  const Tensor x = random_tensor({2, 4}, 1, -3, 3);
  const Tensor bias = random_tensor({4}, 2);
  check_gradient({"Gelu", {x}, {}, 1, contrib});
  check_gradient({"BiasGelu", {x, bias}, {}, 1, contrib});
  check_gradient({"FastGelu", {x, bias}, {}, 1, contrib});
  check_gradient({"QuickGelu", {x}, {{"alpha", 1.3F}}, 1, contrib});
}

TEST_CASE("An operator of com.microsoft ignores no input, output or attribute") {
  const Tensor x = random_tensor({2, 4}, 1);
  const auto message = [](const OpCase& op_case) {
    try {
      run_op(op_case);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message({"Gelu", {x, x}, {}, 1, contrib}), Contains("input 1 is not supported"));
  CHECK_THAT(message({"Gelu", {x}, {}, 2, contrib}), Contains("output 1 is not supported"));
  CHECK_THAT(message({"Gelu", {x}, {{"sharp", 1L}}, 1, contrib}),
             Contains("attribute 'sharp' is not supported"));
  CHECK_THAT(message({"BiasGelu", {x}, {}, 1, contrib}), Contains("input 1 is missing"));
  CHECK_THAT(message({"BiasGelu", {x, random_tensor({3}, 1)}, {}, 1, contrib}),
             Contains("does not broadcast"));
  CHECK_THAT(message({"Gelu", {Tensor::of<std::int64_t>({1}, {1})}, {}, 1, contrib}),
             Contains("needed: float"));
}
