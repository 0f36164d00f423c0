// Nodes that backward() appends, counted: results would be the same with more of them.
#include "autodiff/backward.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/autodiff/graph_writer.h"
#include "tests/autodiff/small_models.h"
#include "tests/support/models.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

using Names = std::vector<std::string>;

// Derivative of `y` by `x`, and the operators that it takes.
std::pair<Val, Names> derivative(GraphWriter& w, Val y, Val x, std::vector<Val> cuts = {}) {
  const Val seed = w.builder.constant(Tensor(DType::float64, {3}));
  const std::size_t before = w.graph.nodes.size();
  const auto result = autodiff::backward(w.builder, {&y, 1}, {&seed, 1}, {&x, 1}, cuts);
  return {result.at(0), operators_of(w.graph, before)};
}

}  // namespace

TEST_CASE("two partial derivatives are added, more are summed by one node") {
  for (std::size_t uses = 1; uses <= 5; ++uses) {
    GraphWriter w;
    const Val x = w.input("x");
    std::vector<Val> terms;
    for (std::size_t i = 0; i < uses; ++i) terms.push_back(unary("Neg", x));
    const Val y = uses == 1 ? terms[0] : w.builder.nodes("Sum", terms, {}, 1)[0];
    Names want(uses, "Neg");
    if (uses == 2) want.insert(want.begin(), "Add");
    if (uses > 2) want.emplace_back("Sum");
    CHECK(derivative(w, y, x).second == want);
  }
}

TEST_CASE("the derivative of a value by itself is the seed, and takes no node") {
  GraphWriter w;
  const Val x = w.input("x");
  const auto [dx, operators] = derivative(w, x, x);
  CHECK(dx);
  CHECK(operators.empty());
}

TEST_CASE("where nothing depends on x there is no derivative and no node") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val z = w.input("z");
  const Val m = x * x;
  const auto by_other = derivative(w, z * z, x);
  CHECK_FALSE(by_other.first);
  CHECK(by_other.second.empty());
  const auto behind_cut = derivative(w, m * z, x, {m});
  CHECK_FALSE(behind_cut.first);
  CHECK(behind_cut.second.empty());
  const auto rounded = derivative(w, unary("Floor", x) * z, x);
  CHECK_FALSE(rounded.first);
  const auto compared = derivative(w, cast(greater(x, z), DType::float64) * z, x);
  CHECK_FALSE(compared.first);
  CHECK(compared.second.empty());
}

TEST_CASE("nodes beside the path from x to y have no derivative taken") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val z = w.input("z");
  const Val side = unary("Exp", z);
  const Val unread = unary("Exp", x);
  CHECK(unread);
  // The derivative of x exp(z) by x is the seed times exp(z).
  CHECK(derivative(w, x * side, x).second == Names{"Mul"});
  CHECK(derivative(w, x + side, x).second.empty());
}

TEST_CASE("the results that a y without a seed has count nothing") {
  GraphWriter w;
  const Val x = w.input("x");
  const std::vector<Val> ys{unary("Exp", x), unary("Neg", x)};
  const std::vector<Val> dys{Val(), w.builder.constant(Tensor(DType::float64, {3}))};
  const std::size_t before = w.graph.nodes.size();
  const std::vector<Val> xs{x};
  CHECK(autodiff::backward(w.builder, ys, dys, xs).at(0));
  CHECK(operators_of(w.graph, before) == Names{"Neg"});
}

TEST_CASE("tensors of floating point numbers are differentiable, and what holds only such") {
  const Type number = Type::tensor(DType::float16);
  CHECK(autodiff::differentiable(number));
  CHECK(autodiff::differentiable(Type::tensor(DType::bfloat16)));
  CHECK_FALSE(autodiff::differentiable(Type::tensor(DType::int64)));
  CHECK_FALSE(autodiff::differentiable(Type::tensor(DType::float8e5m2)));
  CHECK(autodiff::differentiable(Type::sequence(number)));
  CHECK(autodiff::differentiable(Type::optional(Type::sequence(number))));
  CHECK_FALSE(autodiff::differentiable(Type::sequence(Type::tensor(DType::boolean))));
  CHECK_FALSE(autodiff::differentiable(Type::map(DType::int64, number)));
  CHECK_FALSE(autodiff::differentiable(Type{}));
}

TEST_CASE("every captured value of a branch has its derivative, the thirty-third one too") {
  std::vector<NodeDef> nodes;
  std::vector<std::string> names;
  constexpr std::size_t count = 40;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back("m" + std::to_string(i));
    nodes.push_back(node("Mul", {"a", "b"}, {names.back()}));
  }
  const auto branch = body({}, {node("Sum", names, {"s"})}, {"s"});
  nodes.push_back(node("If", {"flag"}, {"y"}, {{"then_branch", branch}, {"else_branch", branch}}));
  std::vector<std::string> derivatives;
  for (std::size_t i = 0; i < count; ++i) derivatives.push_back("d" + std::to_string(i));
  nodes.push_back(gradient(names, derivatives, names, "y"));
  nodes.push_back(gradient({"a"}, {"da"}, {"a"}, "y"));
  derivatives.emplace_back("da");
  const auto out = run_model(small_model(nodes, derivatives), {1, 2, 3}, {4, 5, 6});
  for (std::size_t i = 0; i < count; ++i) {
    INFO("m" << i);
    check_close(out[i], Tensor::of<double>({3}, {1, 1, 1}));
  }
  check_close(out[count], Tensor::of<double>({3}, {160, 200, 240}));
}

TEST_CASE("a derivative of another type than its value is an error inside the library") {
  static const OpDef wrong{
      .name = "Wrong",
      .domain = "test",
      .infer = catalogue().find("", "Neg")->infer,
      .grad = [](GradContext& g) -> std::vector<Val> { return {cast(g.dy(0), DType::float32)}; }};
  GraphWriter w;
  const Val x = w.input("x");
  Node node;
  node.op = &wrong;
  node.version = 1;
  node.inputs = {x.id()};
  node.outputs = {w.graph.add_temporary("y")};
  const Val y = w.builder.value(node.outputs[0]);
  w.builder.append(node);
  CHECK_THROWS_WITH(derivative(w, y, x),
                    Catch::Contains("the derivative with respect to input 0 is tensor(float)[3], "
                                    "the input is tensor(double)[3]"));
}

TEST_CASE("the nodes of a derivative name the node that was differentiated") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val y = unary("Exp", x);
  const std::string forward = describe(w.graph.nodes.back(), w.graph);
  const std::size_t before = w.graph.nodes.size();
  REQUIRE(derivative(w, y, x).first);
  REQUIRE(w.graph.nodes.size() > before);
  for (std::size_t i = before; i < w.graph.nodes.size(); ++i) {
    CHECK_THAT(describe(w.graph.nodes[i], w.graph),
               Catch::Contains(" of the derivative of " + forward));
  }
}
