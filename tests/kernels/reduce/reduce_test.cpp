#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "autodiff/backward.h"
#include "graph/contract/ops.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

// The elements that each output combines, in a loop over all indices.
std::vector<std::vector<double>> groups(const Tensor& x, const Int64s& axes, Shape* kept) {
  std::vector<bool> reduced(x.shape().rank());
  for (const auto a : axes) reduced[static_cast<std::size_t>(a)] = true;
  for (std::size_t a = 0; a < reduced.size(); ++a) kept->push_back(reduced[a] ? 1 : x.shape()[a]);
  std::vector<std::vector<double>> out(static_cast<std::size_t>(kept->size()));
  const auto values = as_doubles(x);
  for_each_index(x.shape(), [&](const Int64s& index) {
    Int64s at = index;
    for (std::size_t a = 0; a < at.size(); ++a) {
      if (reduced[a]) at[a] = 0;
    }
    out[position(*kept, at)].push_back(values[position(x.shape(), index)]);
  });
  return out;
}

double naive(const std::string& op, const std::vector<double>& xs) {
  double sum = 0;
  double abs = 0;
  double square = 0;
  double product = 1;
  double greatest = -INFINITY;
  double least = INFINITY;
  double exps = 0;
  for (const double x : xs) {
    sum += x;
    abs += std::abs(x);
    square += x * x;
    product *= x;
    greatest = std::max(greatest, x);
    least = std::min(least, x);
    exps += std::exp(x);
  }
  if (op == "ReduceSum") return sum;
  if (op == "ReduceMean") return sum / static_cast<double>(xs.size());
  if (op == "ReduceMax") return greatest;
  if (op == "ReduceMin") return least;
  if (op == "ReduceProd") return product;
  if (op == "ReduceL1") return abs;
  if (op == "ReduceL2") return std::sqrt(square);
  if (op == "ReduceSumSquare") return square;
  if (op == "ReduceLogSum") return std::log(sum);
  return std::log(exps);
}

void check_reduce(const std::string& op, const Tensor& x, const Int64s& axes) {
  Shape kept;
  std::vector<double> want;
  for (const auto& group : groups(x, axes, &kept)) want.push_back(naive(op, group));
  const Tensor y = run_op_tensor({.op = op, .inputs = {x, int64s(axes)}});
  INFO(op << " " << x.shape().to_string() << " over " << Catch::StringMaker<Int64s>::convert(axes));
  REQUIRE(y.shape() == kept);
  REQUIRE(y.dtype() == x.dtype());
  const auto got = as_doubles(y);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])) ||
                      std::abs(got[i] - want[i]) <= 1e-6 * (1 + std::abs(want[i]));
    if (!same) CHECK(got[i] == want[i]);
  }
}

// The derivative of the sum of output 0 by input 0.
std::vector<double> derivative(const OpCase& op_case) {
  graph::Graph graph;
  graph::Builder builder(graph, catalogue());
  const Tensor& x = op_case.inputs[0].tensor();
  graph.inputs.push_back(graph.add_value("x", graph::Type::tensor(x.dtype(), x.shape())));
  const graph::Val input = builder.value(graph.inputs[0]);
  const graph::Val y = builder.node(op_case.op, {input}, op_case.attributes);
  const graph::Val dy = graph::full_like(y, 1);
  const std::array ys{y};
  const std::array dys{dy};
  const std::array xs{input};
  graph.outputs.push_back(autodiff::backward(builder, ys, dys, xs)[0].id());
  return as_doubles(graph::evaluate(graph, {{x}})[0].tensor());
}

}  // namespace

TEST_CASE("Reductions over every set of axes give what a loop gives") {
  const std::string op =
      GENERATE(as<std::string>(), "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin");
  const std::vector<Shape> shapes = {{3}, {2, 3, 4}, {1, 5, 1, 2}, {3, 17, 2, 19}, {2, 0, 3}};
  for (const Shape& shape : shapes) {
    const Tensor x = random_floats(shape, 1, 0.2F, 2);
    for (unsigned set = 1; set < 1U << shape.rank(); ++set) {
      Int64s axes;
      for (std::size_t a = 0; a < shape.rank(); ++a) {
        if (set >> a & 1U) axes.push_back(static_cast<std::int64_t>(a));
      }
      check_reduce(op, x, axes);
    }
  }
}

TEST_CASE("Reductions of large tensors give what a loop gives") {
  const std::string op =
      GENERATE(as<std::string>(), "ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp");
  check_reduce(op, random_floats({200'003}, 1, 0, 1), {0});
  check_reduce(op, random_floats({3, 70'001}, 1, 0, 1), {1});
  check_reduce(op, random_floats({30'000, 7}, 1, 0, 1), {0});
  check_reduce(op, random_floats({900, 300}, 1, 0, 1), {0});
  check_reduce(op, random_floats({40, 3, 1000}, 1, 0, 1), {0, 2});
  check_reduce(op, random_floats({10, 3, 100, 50}, 1, 0, 1), {0, 2});
  check_reduce(op, random_floats({1000, 2, 50, 3}, 1, 0, 1), {0, 2});
}

TEST_CASE("A sum of bfloat16 is that of its numbers, rounded once") {
  const Tensor x = run_op_tensor({.op = "Cast",
                                  .inputs = {random_floats({40, 3, 300}, 1, 0, 1)},
                                  .attributes = {{"to", std::int64_t{16}}}});
  const Tensor exact =
      run_op_tensor({.op = "Cast", .inputs = {x}, .attributes = {{"to", std::int64_t{1}}}});
  for (const Int64s& axes : {Int64s{0}, Int64s{0, 1}, Int64s{1}, Int64s{2}}) {
    const auto got = as_doubles(run_op_tensor({.op = "ReduceSum", .inputs = {x, int64s(axes)}}));
    const auto want =
        as_doubles(run_op_tensor({.op = "ReduceSum", .inputs = {exact, int64s(axes)}}));
    CAPTURE(axes);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(std::abs(got[i] - want[i]) <= std::abs(want[i]) * 0x1p-8);
    }
  }
}

TEST_CASE("Reductions of pairs give what a loop gives") {
  const std::string op =
      GENERATE(as<std::string>(), "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
               "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp");
  check_reduce(op, random_floats({3, 41, 2}, 1, 0.1F, 2), {2});
  check_reduce(op, random_floats({20'011, 2}, 1, 0.1F, 2), {1});
  // Not one row for each output.
  check_reduce(op, random_floats({3, 41, 2}, 1, 0.1F, 2), {0, 2});
  check_reduce(op, random_floats({41, 2}, 1, 0.1F, 2), {0, 1});
  const Tensor integers = Tensor::of<std::int32_t>({3, 2}, {4, 3, 7, 24, 1, 2});
  if (op.find("Log") == std::string::npos && op != "ReduceMean" && op != "ReduceL2") {
    check_reduce(op, integers, {1});
  }
}

TEST_CASE("The error of long sums of floats does not grow with their length") {
  const std::int64_t n = 10'000'000;
  Tensor x(DType::float32, {n});
  for (float& v : x.mutable_values<float>()) v = 0.1F;
  const Tensor y = run_op_tensor({.op = "ReduceSum", .inputs = {x, int64s({0})}});
  CHECK(y.values<float>()[0] == Approx(static_cast<double>(0.1F) * 1e7).epsilon(5e-7));
  const Tensor columns =
      run_op_tensor({.op = "ReduceSum", .inputs = {x.reshaped({n / 10, 10}), int64s({0})}});
  CHECK(columns.values<float>()[3] == Approx(static_cast<double>(0.1F) * 1e6).epsilon(5e-7));
}

TEST_CASE("keepdims, attributes and empty axes follow the version") {
  const Tensor x = iota({2, 3});
  const auto shape = [&](std::vector<Value> inputs, graph::Attributes attributes,
                         std::int64_t version, const char* op = "ReduceSum") {
    return run_op_tensor({.op = op,
                          .inputs = std::move(inputs),
                          .attributes = std::move(attributes),
                          .version = version})
        .shape();
  };
  CHECK(shape({x}, {}, 13) == Shape{1, 1});
  CHECK(shape({x}, {{"keepdims", 0L}}, 13) == Shape{});
  CHECK(shape({x, int64s({})}, {{"keepdims", 0L}}, 13) == Shape{});
  CHECK(shape({x, int64s({-1})}, {{"keepdims", 0L}}, 13) == Shape{2});
  CHECK(shape({x}, {{"axes", Int64s{1}}, {"keepdims", 0L}}, 11) == Shape{2});
  CHECK(shape({x}, {{"axes", Int64s{1}}, {"keepdims", 0L}}, 13, "ReduceMean") == Shape{2});
  CHECK(shape({x, int64s({0})}, {{"keepdims", 0L}}, 18, "ReduceMean") == Shape{3});
  CHECK(run_op_tensor({.op = "ReduceSum",
                       .inputs = {x, int64s({})},
                       .attributes = {{"noop_with_empty_axes", 1L}}})
            .identical(x));
  CHECK(shape({iota({}), int64s({})}, {}, 13) == Shape{});
  CHECK_THROWS_AS(shape({x, int64s({2})}, {}, 13), Error);
  CHECK_THROWS_AS(shape({x, int64s({0, -2})}, {}, 13), Error);
}

TEST_CASE("Reductions of nothing give the neutral element") {
  const auto of_nothing = [](const char* op, DType dtype) {
    return as_doubles(run_op_tensor({.op = op, .inputs = {Tensor(dtype, {0, 1}), int64s({0})}}))[0];
  };
  CHECK(of_nothing("ReduceSum", DType::float32) == 0);
  CHECK(of_nothing("ReduceSum", DType::int32) == 0);
  CHECK(std::isnan(of_nothing("ReduceMean", DType::float64)));
  CHECK(of_nothing("ReduceProd", DType::float32) == 1);
  CHECK(of_nothing("ReduceProd", DType::uint64) == 1);
  CHECK(of_nothing("ReduceL1", DType::float32) == 0);
  CHECK(of_nothing("ReduceL2", DType::float32) == 0);
  CHECK(of_nothing("ReduceSumSquare", DType::float32) == 0);
  CHECK(of_nothing("ReduceLogSum", DType::float32) == -INFINITY);
  CHECK(of_nothing("ReduceLogSumExp", DType::float64) == -INFINITY);
  CHECK(of_nothing("ReduceMax", DType::float16) == -INFINITY);
  CHECK(of_nothing("ReduceMin", DType::bfloat16) == INFINITY);
  CHECK(of_nothing("ReduceMax", DType::int8) == -128);
  CHECK(of_nothing("ReduceMin", DType::uint32) == 4294967295.0);
  CHECK(of_nothing("ReduceMax", DType::boolean) == 0);
  CHECK(of_nothing("ReduceMin", DType::boolean) == 1);
}

TEST_CASE("Reductions know integers, booleans and NaN") {
  const Tensor x = Tensor::of<std::int32_t>({4}, std::vector<std::int32_t>{-3, 7, -2, -9});
  CHECK(as_doubles(run_op_tensor({.op = "ReduceSum", .inputs = {x}}))[0] == -7);
  CHECK(as_doubles(run_op_tensor({.op = "ReduceMean", .inputs = {x}}))[0] == -1);
  CHECK(as_doubles(run_op_tensor({.op = "ReduceMin", .inputs = {x}}))[0] == -9);
  Tensor flags(DType::boolean, {2, 2});
  flags.mutable_values<bool>()[1] = true;
  CHECK(as_doubles(run_op_tensor({.op = "ReduceMax", .inputs = {flags, int64s({1})}})) ==
        std::vector<double>{1, 0});
  const Tensor nan = Tensor::of<float>({3}, std::vector<float>{1, NAN, 2});
  CHECK(std::isnan(as_doubles(run_op_tensor({.op = "ReduceMax", .inputs = {nan}}))[0]));
  CHECK(std::isnan(as_doubles(run_op_tensor({.op = "ReduceMin", .inputs = {nan}}))[0]));
  CHECK_THROWS_AS(run_op_tensor({.op = "ReduceSum", .inputs = {iota_strings({2})}}), Error);
}

TEST_CASE("Reductions have derivatives") {
  const std::string op =
      GENERATE(as<std::string>(), "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
               "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp");
  const Tensor x = random_tensor({2, 3, 2}, 1, 0.5, 2);
  // The derivative of a product needs to know the axes beforehand.
  const GradientCheck axes_known{.dynamic_dims = op != "ReduceProd"};
  check_gradient({.op = op, .inputs = {x}});
  check_gradient({.op = op, .inputs = {x, int64s({1})}}, axes_known);
  check_gradient({.op = op, .inputs = {x, int64s({-1, 0})}, .attributes = {{"keepdims", 0L}}},
                 axes_known);
  check_gradient({.op = op, .inputs = {x}, .attributes = {{"keepdims", 0L}}});
  check_gradient({.op = op,
                  .inputs = {x},
                  .attributes = {{"axes", Int64s{1}}, {"keepdims", 0L}},
                  .version = 11});
  check_gradient(
      {.op = op, .inputs = {x, int64s({})}, .attributes = {{"noop_with_empty_axes", 1L}}},
      axes_known);
}

TEST_CASE("Equal extremes share the derivative evenly") {
  const Tensor x = Tensor::of<double>({5}, std::vector<double>{3, 1, 3, 2, 3});
  const double third = 1.0 / 3;
  CHECK(derivative({.op = "ReduceMax", .inputs = {x}}) ==
        std::vector<double>{third, 0, third, 0, third});
  CHECK(derivative({.op = "ReduceMin", .inputs = {x}}) == std::vector<double>{0, 1, 0, 0, 0});
}

TEST_CASE("The derivative of a product is right with zeros, to the second order") {
  for (const std::vector<double>& values :
       {std::vector<double>{2, 0, 3, -1}, std::vector<double>{0, 0, 3, 2},
        std::vector<double>{0, 0, 0, 2}, std::vector<double>{0, 0, 0, 0}}) {
    const Tensor x = Tensor::of<double>({2, 2}, values);
    check_gradient({.op = "ReduceProd", .inputs = {x}});
    for (const Int64s& axes : {Int64s{1, 0}, Int64s{0}}) {
      check_gradient(
          {.op = "ReduceProd", .inputs = {x}, .attributes = {{"axes", axes}}, .version = 13});
    }
  }
}

TEST_CASE("The norm of zero has derivative zero") {
  const Tensor x = Tensor::of<double>({3}, std::vector<double>{0, 0, 0});
  CHECK(derivative({.op = "ReduceL2", .inputs = {x}}) == std::vector<double>{0, 0, 0});
}

TEST_CASE("LogSumExp neither overflows nor loses small values") {
  const auto of = [](std::vector<float> values) {
    const Tensor x = Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
    return as_doubles(run_op_tensor({.op = "ReduceLogSumExp", .inputs = {x}}))[0];
  };
  CHECK(of({1000, 1000}) == Approx(1000 + std::log(2.0)));
  CHECK(of({-1000, -1000}) == Approx(-1000 + std::log(2.0)));
  CHECK(of({-INFINITY, -INFINITY}) == -INFINITY);
  CHECK(of({1, INFINITY}) == INFINITY);
  CHECK(std::isnan(of({1, NAN})));
}

TEST_CASE("Reductions of integers") {
  const Tensor x = Tensor::of<std::int32_t>({2}, std::vector<std::int32_t>{-60000, 80000});
  const auto of = [&](const char* op) {
    return as_doubles(run_op_tensor({.op = op, .inputs = {x}}))[0];
  };
  CHECK(of("ReduceL1") == 140000);
  CHECK(of("ReduceL2") == 100000);
  CHECK(of("ReduceLogSum") == 9);
  CHECK(of("ReduceLogSumExp") == 80000);
}
