#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

struct BinaryCase {
  std::string op;
  double (*f)(double, double);
  graph::Attributes attributes = {};
};

const std::vector<BinaryCase> arithmetic{
    {"Add", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Mod", [](double a, double b) { return std::fmod(a, b); }, {{"fmod", std::int64_t{1}}}},
    {"PRelu", [](double a, double b) { return a < 0 ? a * b : a; }},
    {"Min", [](double a, double b) { return std::min(a, b); }},
    {"Max", [](double a, double b) { return std::max(a, b); }},
};

struct Shapes {
  Shape a;
  Shape b;
  Shape out;
};

const std::vector<Shapes> unidirectional{
    {{3, 4}, {3, 4}, {3, 4}},
    {{}, {}, {}},
    {{2, 3}, {}, {2, 3}},
    {{2, 3}, {1}, {2, 3}},
    {{2, 3}, {3}, {2, 3}},
    {{2, 3}, {2, 1}, {2, 3}},
    {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
    {{2, 3, 4, 5}, {2, 1, 4, 1}, {2, 3, 4, 5}},
    {{0, 3}, {3}, {0, 3}},
    {{5, 700}, {700}, {5, 700}},
    {{300, 129}, {300, 1}, {300, 129}},
    {{3, 20000}, {3, 20000}, {3, 20000}},
};
const std::vector<Shapes> both_ways{
    {{3}, {2, 3}, {2, 3}},
    {{}, {4}, {4}},
    {{3, 1}, {1, 4}, {3, 4}},
    {{2, 1, 4}, {3, 1}, {2, 3, 4}},
    {{1, 1, 1}, {2}, {1, 1, 2}},
    {{0, 1}, {1, 3}, {0, 3}},
    {{400, 1}, {1, 300}, {400, 300}},
};

void check_values(const BinaryCase& c, const Shapes& s, DType dtype) {
  INFO(c.op << " " << to_string(dtype) << " " << s.a.to_string() << " " << s.b.to_string());
  const bool positive = c.op == "Pow";
  const Tensor a = as_dtype(random_tensor(s.a, 1, positive ? 0.2 : -3, 3), dtype);
  const Tensor b = as_dtype(random_tensor(s.b, 2, 0.5, 3), dtype);
  const Tensor want = reference(s.out, {a, b}, [&](const auto& v) { return c.f(v[0], v[1]); });
  Closeness closeness = closeness_of(dtype);
  closeness.rtol *= 2;
  check_close(run_op_tensor({.op = c.op, .inputs = {a, b}, .attributes = c.attributes}),
              as_dtype(want, dtype), closeness);
}

}  // namespace

TEST_CASE("Binary operators broadcast in every float format") {
  for (const auto& c : arithmetic) {
    for (const DType dtype : float_dtypes) {
      for (const auto& s : unidirectional) check_values(c, s, dtype);
      if (c.op == "PRelu") continue;
      for (const auto& s : both_ways) check_values(c, s, dtype);
    }
  }
}

TEST_CASE("Derivatives of binary operators are summed over what was broadcast") {
  const std::vector<Shapes> shapes{{{2, 3}, {2, 3}, {}},
                                   {{2, 3}, {3}, {}},
                                   {{2, 3}, {2, 1}, {}},
                                   {{3}, {}, {}},
                                   {{2, 2}, {1, 1}, {}}};
  for (const auto& c : arithmetic) {
    for (const auto& s : shapes) {
      INFO(c.op << " " << s.a.to_string() << " " << s.b.to_string());
      const Tensor a = random_tensor(s.a, 11, c.op == "Pow" || c.op == "Mod" ? 0.3 : -2, 2);
      const Tensor b = random_tensor(s.b, 12, 0.6, 1.9);
      check_gradient({.op = c.op, .inputs = {a, b}, .attributes = c.attributes});
      if (c.op != "PRelu" && c.op != "Pow" && c.op != "Mod") {
        check_gradient(
            {.op = c.op, .inputs = {random_tensor(s.b, 12), random_tensor(s.a, 13, 1, 2)}});
      }
    }
  }
}

TEST_CASE("Shapes that do not broadcast are errors") {
  const auto run = [](const Shape& a, const Shape& b, std::int64_t version,
                      graph::Attributes attributes = {}) {
    return run_op_tensor({.op = "Add",
                          .inputs = {random_tensor(a, 1), random_tensor(b, 2)},
                          .attributes = std::move(attributes),
                          .version = version});
  };
  const graph::Attribute on{"broadcast", std::int64_t{1}};
  CHECK_THROWS_AS(run({2, 3}, {2}, 14), Error);
  CHECK_THROWS_AS(run({2, 3}, {4, 3}, 14), Error);
  CHECK_THROWS_AS(run({2, 3}, {3}, 6), Error);
  CHECK_THROWS_AS(run({2, 3}, {2}, 6, {on}), Error);
  CHECK_THROWS_AS(run({3}, {2, 3}, 6, {on}), Error);
  CHECK_THROWS_AS(run({2, 3}, {3}, 6, {on, {"axis", std::int64_t{2}}}), Error);
  CHECK_THROWS_AS(run_op({.op = "Add", .inputs = {random_tensor({2}, 1), random_floats({2}, 1)}}),
                  Error);
}

TEST_CASE("Before version 7 the second operand lies at an axis of the first") {
  const graph::Attribute on{"broadcast", std::int64_t{1}};
  const Tensor a = random_tensor({2, 3, 4, 5}, 1);
  const auto check = [&](const Shape& b_shape, const Shape& laid, graph::Attributes attributes) {
    const Tensor b = random_tensor(b_shape, 2, 1, 2);
    const Tensor want =
        reference(a.shape(), {a, b.reshaped(laid)}, [](const auto& v) { return v[0] * v[1]; });
    const OpCase op_case{
        .op = "Mul", .inputs = {a, b}, .attributes = std::move(attributes), .version = 6};
    check_close(run_op_tensor(op_case), want, {1e-14, 0});
    check_gradient(op_case, {.order = 1, .dynamic_dims = false, .elements = 6});
  };
  check({}, {}, {on});
  check({1, 1}, {}, {on});
  check({5}, {5}, {on});
  check({4, 5}, {4, 5}, {on});
  check({3, 4}, {3, 4, 1}, {on, {"axis", std::int64_t{1}}});
  check({2}, {2, 1, 1, 1}, {on, {"axis", std::int64_t{0}}});
  check({4}, {4, 1}, {on, {"axis", std::int64_t{-2}}});
  // One element may have more axes than the first operand.
  const Tensor row = random_tensor({3}, 3);
  const Tensor two = Tensor::of<double>({1, 1}, {2});
  const OpCase twice{.op = "Mul", .inputs = {row, two}, .attributes = {on}, .version = 6};
  CHECK(run_op_tensor(twice).identical(run_op_tensor({.op = "Add", .inputs = {row, row}})));
  check_gradient(twice, {.order = 1});
}

TEST_CASE("Integer arithmetic wraps and division is exact") {
  for (const DType dtype : integer_dtypes) {
    INFO(to_string(dtype));
    const Tensor a = numbers({4}, {7, 100, 120, 3}, dtype);
    const Tensor b = numbers({4}, {2, 7, 10, 3}, dtype);
    const auto run = [&](const std::string& op) {
      return run_op_tensor({.op = op, .inputs = {a, b}});
    };
    check_close(run("Div"), numbers({4}, {3, 14, 12, 1}, dtype));
    check_close(run("Mod"), numbers({4}, {1, 2, 0, 0}, dtype));
    check_close(run("Sub"), numbers({4}, {5, 93, 110, 0}, dtype));
    check_close(run("Max"), numbers({4}, {7, 100, 120, 3}, dtype));
    const Tensor top = numbers({1}, {1e30}, dtype);
    const Tensor one = numbers({1}, {1}, dtype);
    const Tensor bottom = numbers({1}, {-1e30}, dtype);
    check_close(run_op_tensor({.op = "Add", .inputs = {top, one}}), bottom);
    check_close(run_op_tensor({.op = "Sub", .inputs = {bottom, one}}), top);
    check_close(run_op_tensor({.op = "Mul", .inputs = {top, top}}), one);
    for (const std::string op : {"Div", "Mod"}) {
      const Tensor zero = numbers({1}, {0}, dtype);
      CHECK_THROWS_WITH(run_op({.op = op, .inputs = {one, zero}}),
                        Catch::Contains("division by zero") && Catch::Contains(op));
      if (!is_signed_integer(dtype)) continue;
      const Tensor minus = numbers({1}, {-1}, dtype);
      check_close(run_op_tensor({.op = op, .inputs = {bottom, minus}}),
                  op == "Div" ? bottom : zero);
    }
  }
}

TEST_CASE("Mod has the sign of the divisor, with fmod that of the dividend") {
  const Tensor a = numbers({6}, {-4, 7, 5, 4, -7, 8}, DType::int32);
  const Tensor b = numbers({6}, {2, -3, 8, -2, 3, 5}, DType::int32);
  check_close(run_op_tensor({.op = "Mod", .inputs = {a, b}}),
              numbers({6}, {0, -2, 5, 0, 2, 3}, DType::int32));
  const graph::Attributes fmod{{"fmod", std::int64_t{1}}};
  check_close(run_op_tensor({.op = "Mod", .inputs = {a, b}, .attributes = fmod}),
              numbers({6}, {0, 1, 5, 0, -1, 3}, DType::int32));
  CHECK_THROWS_WITH(
      run_op(
          {.op = "Mod", .inputs = {random_tensor({2}, 1), random_tensor({2}, 2)}, .version = 13}),
      Catch::Contains("before version 28"));
}

TEST_CASE("Mod of floating point numbers is a - floor(a / b) b with the sign of the divisor") {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> a{5.5, -5.5, 5.5, -5.5, 0, -0.0, 3, -3, inf, 1, 6, -6};
  const std::vector<double> b{2, 2, -2, -2, -3, 3, inf, inf, 2, 0, -3, 3};
  for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
    INFO(to_string(dtype));
    const Tensor y = run_op_tensor(
        {.op = "Mod", .inputs = {numbers({12}, a, dtype), numbers({12}, b, dtype)}, .version = 28});
    const std::vector<double> got = as_doubles(y);
    for (std::size_t i = 0; i < 8; ++i) {
      INFO(a[i] << " mod " << b[i]);
      const double want =
          std::isinf(b[i]) ? (a[i] < 0 ? inf : a[i]) : a[i] - std::floor(a[i] / b[i]) * b[i];
      CHECK(got[i] == want);
      CHECK(std::signbit(got[i]) == std::signbit(b[i]));
    }
    CHECK(std::isnan(got[8]));
    CHECK(std::isnan(got[9]));
    CHECK((got[10] == 0 && std::signbit(got[10])));
    CHECK((got[11] == 0 && !std::signbit(got[11])));
  }
  check_gradient({.op = "Mod",
                  .inputs = {numbers({4}, {5.5, -5.5, 5.5, -5.5}, DType::float64),
                             numbers({4}, {2, 2, -2, -2}, DType::float64)},
                  .version = 28});
}

TEST_CASE("Pow takes bases and exponents of different dtypes") {
  for (const DType base : {DType::float32, DType::float64, DType::float16, DType::bfloat16,
                           DType::int32, DType::int64}) {
    for (const DType exponent :
         {DType::float32, DType::float64, DType::int8, DType::uint16, DType::int32, DType::int64,
          DType::uint64, DType::float16, DType::bfloat16}) {
      INFO(to_string(base) << " " << to_string(exponent));
      const Tensor x = numbers({4}, {-3, 2, 5, 1}, base);
      const Tensor e = numbers({4}, {3, 4, 2, 0}, exponent);
      check_close(run_op_tensor({.op = "Pow", .inputs = {x, e}}),
                  numbers({4}, {-27, 16, 25, 1}, base));
    }
  }
  const Tensor x = numbers({4}, {1, -1, 2, -1}, DType::int64);
  const Tensor e = numbers({4}, {-5, -3, -1, -4}, DType::int32);
  check_close(run_op_tensor({.op = "Pow", .inputs = {x, e}}),
              numbers({4}, {1, -1, 0, 1}, DType::int64));
  const Tensor zero = numbers({}, {0}, DType::int64);
  CHECK_THROWS_AS(run_op({.op = "Pow", .inputs = {zero, numbers({}, {-1}, DType::int64)}}), Error);
}

TEST_CASE("Pow by one number is that power") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = numbers({7}, {-inf, -0.0, 0, 0.5, 2, 9, inf});
  for (const double e : {2.0, 3.0, 0.5, -1.0, 0.0, 1.0, 2.5}) {
    INFO(e);
    const Tensor want = reference({7}, {x}, [&](const auto& v) { return std::pow(v[0], e); });
    check_close(run_op_tensor({.op = "Pow", .inputs = {x, Tensor::scalar(e)}}), want, {1e-15, 0});
  }
  for (const std::int64_t e : {2, 3, 1, 0, -2}) {
    INFO(e);
    check_gradient({.op = "Pow", .inputs = {random_tensor({5}, 3, -2, -0.5), Tensor::scalar(e)}});
    check_gradient({.op = "Pow", .inputs = {random_tensor({5}, 3, 0.5, 2), Tensor::scalar(e)}});
  }
}

TEST_CASE("Comparisons give bool, with NaN nothing but false") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto check = [](const std::string& op, const Tensor& a, const Tensor& b,
                        std::vector<double> want) {
    INFO(op << " " << to_string(a.dtype()));
    const Shape shape{static_cast<std::int64_t>(want.size())};
    CHECK(run_op_tensor({.op = op, .inputs = {a, b}})
              .identical(numbers(shape, want, DType::boolean)));
  };
  std::vector<DType> dtypes = float_dtypes;
  dtypes.insert(dtypes.end(), integer_dtypes.begin(), integer_dtypes.end());
  for (const DType dtype : dtypes) {
    const Tensor a = numbers({3}, {1, 2, 3}, dtype);
    const Tensor b = numbers({}, {2}, dtype);
    check("Equal", a, b, {0, 1, 0});
    check("Less", a, b, {1, 0, 0});
    check("Greater", a, b, {0, 0, 1});
    check("LessOrEqual", a, b, {1, 1, 0});
    check("GreaterOrEqual", a, b, {0, 1, 1});
  }
  const Tensor a = numbers({3}, {1, nan, nan});
  const Tensor b = numbers({3}, {nan, 1, nan});
  for (const std::string op : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}) {
    check(op, a, b, {0, 0, 0});
  }
  check("Equal", numbers({2}, {0, 1}, DType::boolean), numbers({}, {1}, DType::boolean), {0, 1});
  check("Equal", Tensor::of<std::string>({2}, std::vector<std::string>{"a", "b"}),
        Tensor::scalar(std::string("b")), {0, 1});
}

TEST_CASE("Logical and bitwise operators") {
  const Tensor a = numbers({4}, {0, 0, 1, 1}, DType::boolean);
  const Tensor b = numbers({4}, {0, 1, 0, 1}, DType::boolean);
  const auto check = [](const std::string& op, const Tensor& x, const Tensor& y,
                        const Tensor& want) {
    INFO(op);
    check_close(run_op_tensor({.op = op, .inputs = {x, y}}), want);
  };
  check("And", a, b, numbers({4}, {0, 0, 0, 1}, DType::boolean));
  check("Or", a, b, numbers({4}, {0, 1, 1, 1}, DType::boolean));
  check("Xor", a, b, numbers({4}, {0, 1, 1, 0}, DType::boolean));
  for (const DType dtype : integer_dtypes) {
    const Tensor x = numbers({2}, {12, 7}, dtype);
    const Tensor y = numbers({1}, {10}, dtype);
    check("BitwiseAnd", x, y, numbers({2}, {8, 2}, dtype));
    check("BitwiseOr", x, y, numbers({2}, {14, 15}, dtype));
    check("BitwiseXor", x, y, numbers({2}, {6, 13}, dtype));
  }
}

TEST_CASE("BitShift fills with zeros and empties when shifted by the width") {
  for (const DType dtype : {DType::uint8, DType::uint16, DType::uint32, DType::uint64}) {
    const auto bits = static_cast<double>(packed_bits(dtype));
    const Tensor x = numbers({3}, {16, 5, 3}, dtype);
    const Tensor y = numbers({3}, {1, 2, bits}, dtype);
    const auto run = [&](const std::string& direction) {
      return run_op_tensor(
          {.op = "BitShift", .inputs = {x, y}, .attributes = {{"direction", direction}}});
    };
    check_close(run("RIGHT"), numbers({3}, {8, 1, 0}, dtype));
    check_close(run("LEFT"), numbers({3}, {32, 20, 0}, dtype));
    CHECK_THROWS_AS(run("UP"), Error);
  }
}

TEST_CASE("BitShift of signed integers keeps the sign to the right and drops it to the left") {
  const std::vector<double> values{-16, -1, 5, -5, 5, -5, 100, -100};
  const std::vector<double> shifts{2, 7, -1, -1, 64, 64, 1, 1};
  for (const DType dtype : {DType::int8, DType::int16, DType::int32, DType::int64}) {
    INFO(to_string(dtype));
    const double width = static_cast<double>(packed_bits(dtype));
    const double modulus = std::exp2(width);
    const auto run = [&](const std::string& direction) {
      return as_doubles(
          run_op_tensor({.op = "BitShift",
                         .inputs = {numbers({8}, values, dtype), numbers({8}, shifts, dtype)},
                         .attributes = {{"direction", direction}}}));
    };
    const auto right = run("RIGHT");
    const auto left = run("LEFT");
    for (std::size_t i = 0; i < values.size(); ++i) {
      INFO(values[i] << " by " << shifts[i]);
      const bool inside = shifts[i] >= 0 && shifts[i] < width;
      CHECK(right[i] == (inside ? std::floor(values[i] / std::exp2(shifts[i])) : -(values[i] < 0)));
      // In two's complement: the product modulo 2^width, as a signed number.
      double product = inside ? values[i] * std::exp2(shifts[i]) : 0;
      product -= modulus * std::floor(product / modulus + 0.5);
      CHECK(left[i] == product);
    }
  }
}

TEST_CASE("PRelu of old versions has a slope for each channel") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor slope = random_tensor({3}, 2);
  const OpCase op_case{.op = "PRelu", .inputs = {x, slope}, .version = 6};
  check_close(run_op_tensor(op_case),
              reference(x.shape(), {x, slope.reshaped({3, 1})},
                        [](const auto& v) { return v[0] < 0 ? v[0] * v[1] : v[0]; }),
              {1e-14, 0});
  check_gradient(op_case, {.dynamic_dims = false});
  CHECK_THROWS_AS(run_op({.op = "PRelu", .inputs = {slope, x}}), Error);
}
