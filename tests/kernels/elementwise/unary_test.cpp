#include <algorithm>
#include <functional>
#include <numbers>

#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

struct UnaryCase {
  std::string op;
  double (*f)(double);
  double low = -2;
  double high = 2;
  graph::Attributes attributes = {};
  bool smooth = true;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

// Attribute values that a float holds exactly.
const std::vector<UnaryCase> cases{
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Neg", [](double x) { return -x; }},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }, -2, 2, {}, false},
    {"Floor", [](double x) { return std::floor(x); }, -9, 9, {}, false},
    {"Ceil", [](double x) { return std::ceil(x); }, -9, 9, {}, false},
    {"Round", [](double x) { return std::nearbyint(x); }, -9, 9, {}, false},
    {"Sqrt", [](double x) { return std::sqrt(x); }, 0.1, 4},
    {"Reciprocal", [](double x) { return 1 / x; }, 0.5, 4},
    {"Exp", [](double x) { return std::exp(x); }, -4, 4},
    {"Log", [](double x) { return std::log(x); }, 0.2, 9},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Tan", [](double x) { return std::tan(x); }, -1, 1},
    {"Asin", [](double x) { return std::asin(x); }, -0.8, 0.8},
    {"Acos", [](double x) { return std::acos(x); }, -0.8, 0.8},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Acosh", [](double x) { return std::acosh(x); }, 1.5, 4},
    {"Atanh", [](double x) { return std::atanh(x); }, -0.8, 0.8},
    {"Sigmoid", sigmoid, -6, 6},
    {"HardSigmoid",
     [](double x) { return std::min(1.0, std::max(0.0, 0.25 * x + 0.375)); },
     -4,
     4,
     {{"alpha", 0.25F}, {"beta", 0.375F}}},
    {"HardSwish", [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }, -5, 5},
    {"Swish", [](double x) { return x * sigmoid(x); }, -5, 5},
    {"Swish", [](double x) { return x * sigmoid(1.5 * x); }, -5, 5, {{"alpha", 1.5F}}},
    {"Relu", [](double x) { return std::max(x, 0.0); }},
    {"LeakyRelu", [](double x) { return x < 0 ? x * 0.25 : x; }, -2, 2, {{"alpha", 0.25F}}},
    {"LeakyRelu", [](double x) { return x < 0 ? x * -0.25 : x; }, -2, 2, {{"alpha", -0.25F}}},
    {"ThresholdedRelu", [](double x) { return x > 1 ? x : 0.0; }},
    {"ThresholdedRelu", [](double x) { return x > -0.5 ? x : 0.0; }, -2, 2, {{"alpha", -0.5F}}},
    {"Elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"Elu", [](double x) { return x > 0 ? x : -1.5 * std::expm1(x); }, -2, 2, {{"alpha", -1.5F}}},
    {"Celu",
     [](double x) { return std::max(0.0, x) + std::min(0.0, 2 * std::expm1(x / 2)); },
     -2,
     2,
     {{"alpha", 2.0F}}},
    {"Selu",
     [](double x) { return 3 * (x > 0 ? x : 2 * std::expm1(x)); },
     -2,
     2,
     {{"alpha", 2.0F}, {"gamma", 3.0F}}},
    {"Softplus", softplus, -6, 6},
    {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"Mish", [](double x) { return x * std::tanh(softplus(x)); }, -5, 5},
    {"Gelu", [](double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; }, -3, 3},
    {"Gelu",
     [](double x) {
       const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
       return x * (1 + std::tanh(u)) / 2;
     },
     -3,
     3,
     {{"approximate", std::string("tanh")}}},
    {"Shrink",
     [](double x) { return x < -0.75  ? x + 0.25
                           : x > 0.75 ? x - 0.25
                                      : 0.0; },
     -2,
     2,
     {{"lambd", 0.75F}, {"bias", 0.25F}}},
};

}  // namespace

TEST_CASE("Unary operators give the function of each element in every float format") {
  for (const auto& c : cases) {
    for (const DType dtype : float_dtypes) {
      for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{3, 20, 301}}) {
        INFO(c.op << " " << to_string(dtype) << " " << shape.to_string());
        const Tensor x = as_dtype(random_tensor(shape, 3, c.low, c.high), dtype);
        const Tensor want = reference(shape, {x}, [&](const auto& v) { return c.f(v[0]); });
        const Tensor y = run_op_tensor({.op = c.op, .inputs = {x}, .attributes = c.attributes});
        check_close(y, as_dtype(want, dtype), closeness_of(dtype));
      }
    }
  }
}

TEST_CASE("Unary operators have the derivatives of their functions") {
  for (const auto& c : cases) {
    if (!c.smooth) continue;
    check_gradient({.op = c.op,
                    .inputs = {random_tensor({3, 4}, 5, c.low, c.high)},
                    .attributes = c.attributes});
  }
}

TEST_CASE("Unary operators treat infinities and NaN as their functions do") {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : float_dtypes) {
    const Tensor x = numbers({3}, {-inf, inf, nan}, dtype);
    const auto check = [&](const std::string& op, std::vector<double> want) {
      INFO(op << " " << to_string(dtype));
      check_close(run_op_tensor({.op = op, .inputs = {x}}), numbers({3}, want, dtype));
    };
    check("Relu", {0, inf, nan});
    check("Exp", {0, inf, nan});
    check("Tanh", {-1, 1, nan});
    check("Sigmoid", {0, 1, nan});
    check("Softplus", {0, inf, nan});
    check("HardSigmoid", {0, 1, nan});
    check("HardSwish", {0, inf, nan});
    check("Sign", {-1, 1, nan});
    check("Abs", {inf, inf, nan});
  }
}

TEST_CASE("Exponential rectifiers keep small numbers") {
  const Tensor x = numbers({6}, {-1e-20, -1e-7, -1e-3, -0.2499, -0.2501, -80}, DType::float32);
  const Tensor want = reference({6}, {x}, [](const auto& v) { return std::expm1(v[0]); });
  check_close(run_op_tensor({.op = "Elu", .inputs = {x}}), as_dtype(want, DType::float32),
              {5e-7, 0});
}

TEST_CASE("the derivative of Gelu gives Gelu again with the same bits") {
  for (const DType dtype : float_dtypes) {
    for (const char* approximate : {"none", "tanh"}) {
      for (const Shape& shape : {Shape{3, 700}, Shape{5}, Shape{0}}) {
        CAPTURE(dtype, approximate, shape);
        const Tensor dy = as_dtype(random_tensor(shape, 1), dtype);
        const Tensor x = as_dtype(random_tensor(shape, 2, -4, 4), dtype);
        OpCase gradient{.op = "GeluGrad",
                        .inputs = {dy, x},
                        .attributes = {{"approximate", std::string(approximate)}},
                        .domain = "ai.ondine"};
        const Tensor dx = run_op_tensor(gradient);
        gradient.outputs = 2;
        const std::vector<Value> both = run_op(gradient);
        CHECK(both[0].tensor().identical(dx));
        CHECK(both[1].tensor().identical(
            run_op_tensor({.op = "Gelu", .inputs = {x}, .attributes = gradient.attributes})));
      }
    }
  }
}

TEST_CASE("The fused derivative of Gelu is that of its formula in every float format") {
  for (const std::string approximate : {"none", "tanh"}) {
    const graph::Attributes attributes{{"approximate", approximate}};
    for (const DType dtype : float_dtypes) {
      INFO(approximate << " " << to_string(dtype));
      const Tensor x = as_dtype(random_tensor({3, 300}, 1, -4, 4), dtype);
      const Tensor dy = as_dtype(random_tensor({3, 300}, 2), dtype);
      const auto phi = [&](double v) {
        return std::exp(-v * v / 2) / std::sqrt(2 * std::numbers::pi);
      };
      const Tensor want = reference(x.shape(), {dy, x}, [&](const auto& v) {
        if (approximate == "none") {
          return v[0] * ((1 + std::erf(v[1] / std::sqrt(2.0))) / 2 + v[1] * phi(v[1]));
        }
        const double c = std::sqrt(2 / std::numbers::pi);
        const double t = std::tanh(c * (v[1] + 0.044715 * v[1] * v[1] * v[1]));
        const double slope = c * (1 + 3 * 0.044715 * v[1] * v[1]);
        return v[0] * ((1 + t) / 2 + v[1] * (1 - t * t) * slope / 2);
      });
      Closeness closeness = closeness_of(dtype);
      closeness.atol = std::max(closeness.atol, closeness.rtol);
      check_close(run_op_tensor({.op = "GeluGrad",
                                 .inputs = {dy, x},
                                 .attributes = attributes,
                                 .domain = "ai.ondine"}),
                  as_dtype(want, dtype), closeness);
    }
    check_gradient({.op = "GeluGrad",
                    .inputs = {random_tensor({4}, 1), random_tensor({4}, 2)},
                    .attributes = attributes,
                    .domain = "ai.ondine"},
                   {.order = 1});
  }
}

TEST_CASE("The fused derivatives of Swish and HardSwish are those of their formulas") {
  struct Case {
    std::string op;
    graph::Attributes attributes;
    std::function<double(double)> slope;
  };
  const auto swish = [](double alpha) {
    return [alpha](double x) {
      const double s = sigmoid(alpha * x);
      return s * (1 + alpha * x * (1 - s));
    };
  };
  for (const Case& one :
       {Case{"SwishGrad", {}, swish(1)}, Case{"SwishGrad", {{"alpha", 1.5F}}, swish(1.5)},
        Case{"HardSwishGrad", {}, [](double x) {
               return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
             }}}) {
    OpCase fused{one.op, {}, one.attributes};
    fused.domain = "ai.ondine";
    for (const DType dtype : float_dtypes) {
      INFO(one.op << " " << to_string(dtype));
      const Tensor x = as_dtype(random_tensor({3, 300}, 1, -5, 5), dtype);
      const Tensor dy = as_dtype(random_tensor({3, 300}, 2), dtype);
      const Tensor want =
          reference(x.shape(), {dy, x}, [&](const auto& v) { return v[0] * one.slope(v[1]); });
      Closeness closeness = closeness_of(dtype);
      closeness.atol = std::max(closeness.atol, closeness.rtol);
      fused.inputs = {dy, x};
      check_close(run_op_tensor(fused), as_dtype(want, dtype), closeness);
    }
    fused.inputs = {random_tensor({4}, 1), random_tensor({4}, 2)};
    check_gradient(fused, {.order = 1});
  }
}

TEST_CASE("HardSwish bends at -3 and 3") {
  const Tensor x = numbers({4}, {-3, -2.9, 2.9, 3});
  const Tensor dy = numbers({4}, {1, 1, 1, 1});
  check_close(run_op_tensor({.op = "HardSwish", .inputs = {x}}),
              numbers({4}, {0, -2.9 * 0.1 / 6, 2.9 * 5.9 / 6, 3}));
  check_close(run_op_tensor({.op = "HardSwishGrad", .inputs = {dy, x}, .domain = "ai.ondine"}),
              numbers({4}, {0, 0.5 - 2.9 / 3, 0.5 + 2.9 / 3, 1}));
}

TEST_CASE("Round goes to even at halves") {
  const Tensor x = numbers({6}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5});
  check_close(run_op_tensor({.op = "Round", .inputs = {x}}), numbers({6}, {-2, -2, 0, 0, 2, 2}));
}

TEST_CASE("Integer forms wrap and are exact") {
  for (const DType dtype : integer_dtypes) {
    INFO(to_string(dtype));
    const Tensor x = numbers({3}, {-1e30, 0, 1e30}, dtype);
    const Tensor abs = run_op_tensor({.op = "Abs", .inputs = {x}});
    CHECK(as_doubles(abs)[1] == 0);
    CHECK(as_doubles(abs)[2] == as_doubles(x)[2]);
    CHECK(as_doubles(abs)[0] == as_doubles(x)[0]);  // the least number has no counterpart
    const Tensor sign = run_op_tensor({.op = "Sign", .inputs = {x}});
    check_close(sign, numbers({3}, {is_signed_integer(dtype) ? -1.0 : 0.0, 0, 1}, dtype));
    const Tensor bits = run_op_tensor({.op = "BitwiseNot", .inputs = {x}});
    CHECK(as_doubles(bits)[0] == as_doubles(x)[2]);
    const Tensor y = numbers({4}, {5, 3, 9, 100}, dtype);
    check_close(
        run_op_tensor(
            {.op = "Shrink", .inputs = {y}, .attributes = {{"lambd", 4.0F}, {"bias", 2.0F}}}),
        numbers({4}, {3, 0, 7, 98}, dtype));
    if (is_signed_integer(dtype)) {
      check_close(run_op_tensor({.op = "Relu", .inputs = {numbers({2}, {-7, 7}, dtype)}}),
                  numbers({2}, {0, 7}, dtype));
    }
  }
}

TEST_CASE("IsNaN and IsInf look at every float format") {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto bools = [](std::vector<double> v) {
    return numbers({static_cast<std::int64_t>(v.size())}, v, DType::boolean);
  };
  for (const DType dtype : float_dtypes) {
    const Tensor x = numbers({4}, {1, nan, inf, -inf}, dtype);
    CHECK(run_op_tensor({.op = "IsNaN", .inputs = {x}}).identical(bools({0, 1, 0, 0})));
    CHECK(run_op_tensor({.op = "IsInf", .inputs = {x}}).identical(bools({0, 0, 1, 1})));
    CHECK(run_op_tensor(
              {.op = "IsInf", .inputs = {x}, .attributes = {{"detect_negative", std::int64_t{0}}}})
              .identical(bools({0, 0, 1, 0})));
    CHECK(run_op_tensor(
              {.op = "IsInf", .inputs = {x}, .attributes = {{"detect_positive", std::int64_t{0}}}})
              .identical(bools({0, 0, 0, 1})));
  }
  const Tensor small = Tensor::of<float8e5m2>({3}, {{0x7c}, {0x7f}, {0x3c}});
  CHECK(run_op_tensor({.op = "IsInf", .inputs = {small}}).identical(bools({1, 0, 0})));
  CHECK(run_op_tensor({.op = "IsNaN", .inputs = {small}}).identical(bools({0, 1, 0})));
}

TEST_CASE("Not inverts bools") {
  const Tensor x = numbers({2}, {0, 1}, DType::boolean);
  CHECK(
      run_op_tensor({.op = "Not", .inputs = {x}}).identical(numbers({2}, {1, 0}, DType::boolean)));
}

TEST_CASE("The defaults of attributes are those of the version") {
  const Tensor x = numbers({2}, {1, -1});
  const auto run = [&](const std::string& op, std::int64_t version) {
    return as_doubles(run_op_tensor({.op = op, .inputs = {x}, .version = version}));
  };
  CHECK(run("Selu", 1)[0] == double{1.0507F});
  CHECK(run("Selu", 6)[0] == double{1.05070102214813232421875F});
  CHECK(run("LeakyRelu", 6)[1] == -double{0.01F});
  CHECK(run("HardSigmoid", 6)[0] == double{0.2F} + 0.5);
}

TEST_CASE("Bad attributes of unary operators are errors") {
  const Tensor x = numbers({2}, {1, -1});
  CHECK_THROWS_AS(
      run_op(
          {.op = "Gelu", .inputs = {x}, .attributes = {{"approximate", std::string("sigmoid")}}}),
      Error);
  CHECK_THROWS_AS(run_op({.op = "Celu", .inputs = {x}, .attributes = {{"alpha", 0.0F}}}), Error);
  CHECK_THROWS_AS(
      run_op({.op = "LeakyRelu", .inputs = {x}, .attributes = {{"alpha", std::int64_t{1}}}}),
      Error);
}
