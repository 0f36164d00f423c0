// Derivatives at kinks and ties: the numbers that PyTorch gives, as docs/gradients.md says.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "autodiff/backward.h"
#include "graph/contract/ops.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

using Row = std::vector<double>;

Tensor row(const Row& values) {
  return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
}

// d sum(y of output 0) by each double input; `dynamic`: nothing is a constant when the rule runs.
std::vector<Tensor> derivatives(const OpCase& op_case, bool dynamic = false) {
  GradientSetup setup(
      [&](Builder& b, std::span<const Val> inputs) -> std::vector<Val> {
        return {b.nodes(op_case.op, inputs, op_case.attributes, op_case.outputs, op_case.domain,
                        op_case.version)[0]};
      },
      op_case.inputs, {}, dynamic);
  const std::vector<Val> dys{full_like(setup.ys[0], 1)};
  return setup.evaluate_derivatives(autodiff::backward(setup.builder, setup.ys, dys, setup.xs));
}

void check(const OpCase& op_case, const std::vector<Row>& want) {
  INFO(op_case.op);
  const auto got = derivatives(op_case);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    INFO("input " << i);
    check_close(got[i], Tensor::of<double>(got[i].shape(), want[i]));
  }
}

const double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("activations at their kinks") {
  const Tensor x = row({-1, 0, 1, -0.0});
  check({.op = "Relu", .inputs = {x}}, {{0, 0, 1, 0}});
  check({.op = "Abs", .inputs = {x}}, {{-1, 0, 1, 0}});
  check({.op = "Sign", .inputs = {x}}, {{0, 0, 0, 0}});
  check({.op = "Floor", .inputs = {x}}, {{0, 0, 0, 0}});
  check({.op = "LeakyRelu", .inputs = {x}, .attributes = {{"alpha", 0.5F}}}, {{0.5, 0.5, 1, 0.5}});
  check({.op = "PRelu", .inputs = {x, row({0.25})}}, {{0.25, 0.25, 1, 0.25}, {-1}});
  check({.op = "Elu", .inputs = {x}, .attributes = {{"alpha", 2.0F}}},
        {{2 * std::exp(-1), 2, 1, 2}});
  check({.op = "ThresholdedRelu", .inputs = {row({0, 1, 2})}}, {{0, 0, 1}});
  check({.op = "Shrink", .inputs = {row({-0.5, 0, 0.5, 1})}}, {{0, 0, 0, 1}});
  check({.op = "HardSigmoid", .inputs = {row({-2.5, 0, 2.5})}}, {{0, double{0.2F}, 0}});
  check({.op = "Sqrt", .inputs = {row({0, 1})}}, {{inf, 0.5}});
}

TEST_CASE("Max and Min share ties") {
  const Tensor a = row({1, 2, 3, 0});
  const Tensor b = row({1, 3, 2, -0.0});
  check({.op = "Max", .inputs = {a, b}}, {{0.5, 0, 1, 0.5}, {0.5, 1, 0, 0.5}});
  check({.op = "Min", .inputs = {a, b}}, {{0.5, 1, 0, 0.5}, {0.5, 0, 1, 0.5}});
}

TEST_CASE("Clip at bounds that are numbers and at bounds that are tensors") {
  const Tensor x = row({-1, 0, 1, 2, 3});
  check({.op = "Clip", .inputs = {x}, .attributes = {{"min", 0.0F}, {"max", 2.0F}}, .version = 6},
        {{0, 1, 1, 1, 0}});
  check({.op = "Clip", .inputs = {x}, .attributes = {{"min", 0.0F}}, .version = 6},
        {{0, 1, 1, 1, 1}});
  const auto with = [&](double low, double high) {
    return OpCase{.op = "Clip", .inputs = {x, Tensor::scalar(low), Tensor::scalar(high)}};
  };
  check(with(0, 2), {{0, 0.5, 1, 0.5, 0}, {1.5}, {1.5}});
  check(with(1, 1), {{0, 0, 1, 0, 0}, {2}, {2}});
  check(with(2, 0), {{0, 0, 0, 0, 0}, {0}, {5}});
  check({.op = "Clip", .inputs = {x, Tensor::scalar(0.0)}}, {{0, 0.5, 1, 1, 1}, {1.5}});
  check({.op = "Clip", .inputs = {x, Value(), Tensor::scalar(2.0)}}, {{1, 1, 1, 0.5, 0}, {1.5}});
}

TEST_CASE("Pow at bases of zero and below") {
  check({.op = "Pow", .inputs = {row({0, 0, 0, 0, -2, -2, 2, 0}), row({0, 1, 2, 3, 2, 3, 0, 0.5})}},
        {{0, 1, 0, 0, -4, 12, 0, inf}, {0, 0, 0, 0, not_a_number, not_a_number, std::log(2), 0}});
}

TEST_CASE("reductions with ties and zeros") {
  const Tensor x = Tensor::of<double>({3, 3}, Row{1, 3, 3, 2, 2, 2, 0, -1, 0});
  const double third = 1.0 / 3;
  check({.op = "ReduceMax", .inputs = {x, int64s({1})}},
        {{0, 0.5, 0.5, third, third, third, 0.5, 0, 0.5}});
  check({.op = "ReduceMin", .inputs = {x, int64s({1})}}, {{1, 0, 0, third, third, third, 0, 1, 0}});
  check({.op = "ReduceL1", .inputs = {x, int64s({1})}}, {{1, 1, 1, 1, 1, 1, 0, -1, 0}});
  check({.op = "ReduceL2", .inputs = {Tensor(DType::float64, {2, 2}), int64s({1})}},
        {{0, 0, 0, 0}});
  const Tensor p = Tensor::of<double>({3, 3}, Row{1, 0, 3, 0, 0, 2, 4, 5, 6});
  const OpCase product{.op = "ReduceProd", .inputs = {p, int64s({1})}};
  const std::vector<Row> others{{0, 3, 0, 0, 0, 0, 30, 24, 20}};
  check(product, others);
  // Axes that are known in the call only.
  const auto got = derivatives(product, true);
  check_close(got[0], Tensor::of<double>({3, 3}, others[0]));
}

TEST_CASE("windows, choices and scattered values with ties") {
  const Tensor image =
      Tensor::of<double>({1, 1, 4, 4}, Row{1, 1, 2, 2, 1, 1, 2, 2, 3, 0, 0, 0, 3, 3, 0, 0});
  const Attributes two{{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                       {"strides", std::vector<std::int64_t>{2, 2}}};
  check({.op = "MaxPool", .inputs = {image}, .attributes = two},
        {{1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0}});
  check({.op = "LpPool", .inputs = {Tensor(DType::float64, {1, 1, 2, 2})}, .attributes = two},
        {{0, 0, 0, 0}});
  check({.op = "TopK", .inputs = {row({1, 3, 3, 2, 3}), int64s({2})}, .outputs = 2},
        {{0, 1, 1, 0, 0}});
  check({.op = "ScatterElements",
         .inputs = {row({1, 2, 3}), int64s({0, 0, 1}), row({1, 0, 2})},
         .attributes = {{"reduction", std::string("max")}}},
        {{0.5, 0.5, 1}, {0.5, 0, 0.5}});
  check({.op = "ScatterElements",
         .inputs = {row({0, 2, 3}), int64s({0, 0, 1}), row({5, 0, 2})},
         .attributes = {{"reduction", std::string("mul")}}},
        {{0, 2, 1}, {0, 0, 2}});
}
