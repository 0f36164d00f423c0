#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("Where chooses elements of every dtype with broadcasting") {
  const Tensor condition = numbers({2, 1}, {1, 0}, DType::boolean);
  std::vector<DType> dtypes = float_dtypes;
  dtypes.insert(dtypes.end(), integer_dtypes.begin(), integer_dtypes.end());
  dtypes.push_back(DType::boolean);
  for (const DType dtype : dtypes) {
    INFO(to_string(dtype));
    const Tensor a = numbers({3}, {1, 0, 1}, dtype);
    const Tensor b = numbers({}, {0}, dtype);
    check_close(run_op_tensor({.op = "Where", .inputs = {condition, a, b}}),
                numbers({2, 3}, {1, 0, 1, 0, 0, 0}, dtype));
    check_close(run_op_tensor({.op = "Where", .inputs = {condition, b, a}}),
                numbers({2, 3}, {0, 0, 0, 1, 0, 1}, dtype));
  }
  const Tensor text = Tensor::of<std::string>({2, 1}, std::vector<std::string>{"x", "y"});
  const Tensor other = Tensor::of<std::string>(
      {1, 2}, std::vector<std::string>{"p", "a string that is not short at all"});
  CHECK(run_op_tensor({.op = "Where", .inputs = {condition, text, other}})
            .identical(Tensor::of<std::string>(
                {2, 2},
                std::vector<std::string>{"x", "x", "p", "a string that is not short at all"})));
  const Tensor complex = Tensor::scalar(std::complex<double>(1, 2));
  CHECK(run_op_tensor({.op = "Where", .inputs = {condition, complex, complex}}).size() == 2);
}

TEST_CASE("Where of long rows with every pattern of repetition") {
  const Tensor condition = as_dtype(reference({9, 3000}, {random_tensor({9, 3000}, 4, -1, 1)},
                                              [](const auto& v) { return v[0] > 0 ? 1.0 : 0.0; }),
                                    DType::boolean);
  const std::vector<Shape> shapes{{9, 3000}, {3000}, {9, 1}, {}};
  for (const Shape& a_shape : shapes) {
    for (const Shape& b_shape : shapes) {
      const Tensor a = random_tensor(a_shape, 1);
      const Tensor b = random_tensor(b_shape, 2);
      check_close(run_op_tensor({.op = "Where", .inputs = {condition, a, b}}),
                  reference({9, 3000}, {condition, a, b},
                            [](const auto& v) { return v[0] != 0 ? v[1] : v[2]; }),
                  {0, 0});
    }
  }
}

TEST_CASE("Where passes its derivative to the chosen operand") {
  const Tensor condition = numbers({2, 1}, {1, 0}, DType::boolean);
  check_gradient(
      {.op = "Where", .inputs = {condition, random_tensor({2, 3}, 1), random_tensor({3}, 2)}});
  check_gradient(
      {.op = "Where", .inputs = {condition, random_tensor({}, 1), random_tensor({2, 3}, 2)}});
}

TEST_CASE("Variadic operators combine any number of broadcast inputs") {
  struct Case {
    std::string op;
    double (*f)(const std::vector<double>&);
  };
  const auto total = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum;
  };
  static const auto sum = +total;
  const std::vector<Case> cases{
      {"Sum", sum},
      {"Mean", [](const std::vector<double>& v) { return sum(v) / static_cast<double>(v.size()); }},
      {"Min", [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }},
      {"Max", [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }}};
  const std::vector<std::vector<Shape>> shapes{{{3, 4}},
                                               {{3, 4}, {4}},
                                               {{4}, {3, 1}},
                                               {{3, 1}, {}, {1, 4}},
                                               {{2, 0}, {1}, {1, 1}},
                                               {{5, 900}, {900}, {5, 1}, {}},
                                               {{30000}, {30000}, {30000}}};
  for (const auto& c : cases) {
    for (const auto& operands : shapes) {
      for (const DType dtype : float_dtypes) {
        std::vector<Tensor> tensors;
        Shape out;
        for (const Shape& shape : operands) {
          tensors.push_back(as_dtype(random_tensor(shape, tensors.size() + 1, 0.5, 2), dtype));
          while (out.rank() < shape.rank()) out.push_back(1);
        }
        for (const Shape& shape : operands) {
          for (std::size_t a = 0; a < shape.rank(); ++a) {
            auto& dim = out[out.rank() - 1 - a];
            const auto own = shape[shape.rank() - 1 - a];
            if (own != 1) dim = own;
          }
        }
        INFO(c.op << " " << to_string(dtype) << " " << out.to_string() << " of "
                  << operands.size());
        const Tensor want = as_dtype(reference(out, tensors, c.f), dtype);
        check_close(run_op_tensor({.op = c.op, .inputs = {tensors.begin(), tensors.end()}}), want,
                    closeness_of(dtype));
      }
    }
    check_gradient(
        {.op = c.op,
         .inputs = {random_tensor({3}, 1), random_tensor({2, 1}, 2), random_tensor({2, 3}, 3)}});
    check_gradient({.op = c.op, .inputs = {random_tensor({3}, 1)}});
    CHECK_THROWS_AS(run_op({.op = c.op,
                            .inputs = {random_tensor({2, 3}, 1), random_tensor({3}, 2)},
                            .version = 6}),
                    Error);
  }
}

TEST_CASE("Min and Max give NaN when there is one") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : float_dtypes) {
    const Tensor a = numbers({3}, {1, nan, 2}, dtype);
    const Tensor b = numbers({3}, {nan, 1, 1}, dtype);
    const Tensor c = numbers({1}, {0}, dtype);
    check_close(run_op_tensor({.op = "Max", .inputs = {a, b}}), numbers({3}, {nan, nan, 2}, dtype));
    check_close(run_op_tensor({.op = "Min", .inputs = {a, b, c}}),
                numbers({3}, {nan, nan, 0}, dtype));
  }
}

TEST_CASE("Clip holds elements between bounds of every dtype") {
  std::vector<DType> dtypes = float_dtypes;
  dtypes.insert(dtypes.end(), integer_dtypes.begin(), integer_dtypes.end());
  for (const DType dtype : dtypes) {
    INFO(to_string(dtype));
    const Tensor x = numbers({4}, {1, 5, 9, 100}, dtype);
    const Tensor low = numbers({}, {3}, dtype);
    const Tensor high = numbers({1}, {9}, dtype);
    const auto check = [&](const Value& min, const Value& max, std::vector<double> want) {
      check_close(run_op_tensor({.op = "Clip", .inputs = {x, min, max}}),
                  numbers({4}, want, dtype));
    };
    check(low, high, {3, 5, 9, 9});
    check(low, Value(), {3, 5, 9, 100});
    check(Value(), high, {1, 5, 9, 9});
    check(Value(), Value(), {1, 5, 9, 100});
    check(high, low, {3, 3, 3, 3});  // crossed bounds: the upper one
  }
  const Tensor x = numbers({3}, {-3, 0.5, 7});
  const graph::Attributes bounds{{"min", -1.0F}, {"max", 2.0F}};
  check_close(run_op_tensor({.op = "Clip", .inputs = {x}, .attributes = bounds, .version = 6}),
              numbers({3}, {-1, 0.5, 2}));
  CHECK_THROWS_AS(run_op({.op = "Clip", .inputs = {x, numbers({2}, {0, 1})}}), Error);
}

TEST_CASE("Clip has derivatives by its input and its bounds") {
  const Tensor x = random_tensor({4, 5}, 1);
  check_gradient({.op = "Clip", .inputs = {x, Tensor::scalar(-0.9), Tensor::scalar(0.8)}});
  check_gradient({.op = "Clip", .inputs = {x, numbers({1}, {-0.9})}});
  check_gradient({.op = "Clip", .inputs = {x, Value(), Tensor::scalar(0.8)}});
  check_gradient({.op = "Clip", .inputs = {x, Tensor::scalar(0.9), Tensor::scalar(-0.8)}});
  check_gradient({.op = "Clip", .inputs = {x}, .attributes = {{"max", 0.5F}}, .version = 6});
}
