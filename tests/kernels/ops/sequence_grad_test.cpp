#include <array>
#include <functional>

#include <catch2/catch.hpp>

#include "autodiff/backward.h"
#include "graph/contract/ops.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

using Expression = std::function<Val(Builder&, Val x)>;

double sum_of(const Expression& f, const Tensor& x) {
  Graph graph;
  Builder builder(graph, catalogue());
  graph.inputs.push_back(graph.add_value("x", Type::tensor(DType::float64, x.shape())));
  const Val y = f(builder, builder.value(graph.inputs[0]));
  graph.outputs.push_back(reduce_sum(y, {}, false).id());
  return evaluate(graph, {{x}})[0].tensor().values<double>()[0];
}

// d sum(f(x)) / dx, and that of the derivative, against differences.
void check_expression(const Expression& f, const Tensor& x, int order = 1) {
  Graph graph;
  Builder builder(graph, catalogue());
  const Expression derivative = [&](Builder& b, Val at) {
    const std::array ys{f(b, at)};
    const std::array dys{full_like(ys[0], 1)};
    const std::array xs{at};
    return autodiff::backward(b, ys, dys, xs)[0];
  };
  graph.inputs.push_back(graph.add_value("x", Type::tensor(DType::float64, x.shape())));
  graph.outputs.push_back(derivative(builder, builder.value(graph.inputs[0])).id());
  const Tensor got = evaluate(graph, {{x}})[0].tensor();
  for (std::size_t i = 0; i < got.values<double>().size(); ++i) {
    const auto moved_by = [&](double step) {
      Tensor point = x.clone();
      point.mutable_values<double>()[i] += step;
      return sum_of(f, point);
    };
    const double want = (moved_by(1e-5) - moved_by(-1e-5)) / 2e-5;
    INFO("order " << order << " element " << i);
    REQUIRE(got.values<double>()[i] == Approx(want).margin(1e-6).epsilon(1e-5));
  }
  if (order < 2) {
    check_expression(
        [&](Builder& b, Val at) {
          const Val d = derivative(b, at);
          return d * d;
        },
        x, order + 1);
  }
}

}  // namespace

TEST_CASE("Derivatives flow through sequences that are built, changed and joined") {
  check_expression(
      [](Builder& b, Val x) {
        const Val rows = b.node("SplitToSequence", {x, b.int64(2)});
        const Val first = b.node("SequenceAt", {rows, b.int64(0)});
        const Val longer = b.node("SequenceInsert", {rows, first * first, b.int64(-1)});
        const Val all = b.node("ConcatFromSequence", {longer}, {{"axis", std::int64_t{0}}});
        return all * all;
      },
      random_tensor({5, 2}, 1));
}

TEST_CASE("Derivatives flow through erased elements and new axes") {
  check_expression(
      [](Builder& b, Val x) {
        const Val rows = b.node("SplitToSequence", {x}, {{"keepdims", std::int64_t{0}}});
        const Val fewer = b.node("SequenceErase", {rows, b.int64(-3)});
        const Val last =
            b.node("SequenceErase", {b.node("SequenceInsert", {fewer, slice(x, 0, 1, 0)})});
        const Val all = b.node("ConcatFromSequence", {last},
                               {{"axis", std::int64_t{1}}, {"new_axis", std::int64_t{1}}});
        return all * all * all;
      },
      random_tensor({4, 3}, 1));
}

TEST_CASE("Derivatives by a sequence that is used twice add up") {
  check_expression(
      [](Builder& b, Val x) {
        const Val pair = b.node("SequenceConstruct", {x, x * x});
        const Val one = b.node("SequenceAt", {pair, b.int64(0)});
        const Val two = b.node("SequenceAt", {pair, b.int64(-1)});
        return one * two + b.node("SequenceAt", {pair, b.int64(1)});
      },
      random_tensor({3}, 1));
}

TEST_CASE("Derivatives flow through optionals") {
  check_expression(
      [](Builder&, Val x) {
        const Val held = unary("Optional", x * x);
        return unary("OptionalGetElement", held) * unary("OptionalGetElement", held) +
               unary("OptionalGetElement", x);
      },
      random_tensor({3}, 1));
}
