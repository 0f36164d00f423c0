#include "autodiff/expand.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/autodiff/graph_writer.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

using Names = std::vector<std::string>;

namespace {

Graph expanded(const GraphWriter& writer) { return autodiff::expand(writer.graph, catalogue()); }

// y = x dequantize(elements, scale) with constants; returns the scale and y.
std::pair<Val, Val> dequantized_product(GraphWriter& w, Val x) {
  const Val elements = w.builder.constant(Tensor(DType::int8, {3}));
  const Val scale = w.builder.constant(Tensor::scalar(0.5F), "scale");
  const Val weight = w.builder.node("DequantizeLinear", {elements, scale});
  return {scale, cast(x, DType::float32) * weight};
}

// An If whose branches hold a Gradient by a captured value, which `outer` becomes inside.
void add_branches(GraphWriter& w, Val outer) {
  const auto branch = [&] {
    auto graph = std::make_shared<Graph>();
    const ValueId x = graph->add_value("x", outer.type());
    graph->inputs = {x};
    Builder builder(*graph, catalogue());
    const Val y = builder.value(x) * builder.value(x);
    Node gradient;
    gradient.op = &autodiff::gradient_op;
    gradient.version = 1;
    gradient.inputs = {x};
    gradient.references = {x, y.id()};
    gradient.outputs = {graph->add_temporary("d")};
    gradient.attributes = {{"xs", Names{"x"}}, {"y", (*graph)[y.id()].name}};
    graph->outputs = gradient.outputs;
    builder.append(gradient);
    return graph;
  };
  Node node;
  node.op = catalogue().find("", "If");
  node.version = Builder::latest_version;
  node.inputs = {w.builder.constant(Tensor::scalar(true)).id()};
  node.outputs = {w.graph.add_temporary("taken")};
  node.subgraphs = {{"then_branch", branch(), {outer.id()}},
                    {"else_branch", branch(), {outer.id()}}};
  w.builder.append(node);
}

}  // namespace

TEST_CASE("a graph without Gradient keeps its nodes where they have kernels") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val y = unary("Gelu", x);
  dequantized_product(w, y);
  CHECK_FALSE(autodiff::has_gradient(w.graph));
  CHECK(operators_of(expanded(w)) == operators_of(w.graph));
}

TEST_CASE("an operator without a kernel becomes others, in subgraphs too") {
  GraphWriter w;
  const Val x = w.input("x");
  CHECK(w.builder.node("GlobalAveragePool", {unsqueeze(x, {0, 1})}));
  CHECK(count_of(w.graph, "GlobalAveragePool") == 1);
  const Graph result = expanded(w);
  CHECK(count_of(result, "GlobalAveragePool") == 0);
  for (const Node& node : result.nodes) CHECK(node.op->bind != nullptr);
}

TEST_CASE("a Gradient at the values of the graph computes nothing again") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val z = w.input("z");
  const Val y = unary("Exp", x) * z;
  w.gradient({x}, {x}, y);
  REQUIRE(autodiff::has_gradient(w.graph));
  const Graph result = expanded(w);
  CHECK(count_of(result, "Gradient") == 0);
  CHECK(count_of(result, "Exp") == 1);
  GraphWriter elsewhere;
  const Val u = elsewhere.input("u");
  const Val v = elsewhere.input("v");
  elsewhere.gradient({v}, {u}, unary("Exp", u) * v);
  CHECK(count_of(expanded(elsewhere), "Exp") == 2);
}

TEST_CASE("beside a Gradient, operators with a derivative stay one node") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val y = unary("Gelu", x);
  w.gradient({x}, {x}, y);
  CHECK(count_of(expanded(w), "Gelu") == 1);
}

TEST_CASE("dequantized constants stay one node unless a derivative by them is asked for") {
  {
    GraphWriter w;
    const Val x = w.input("x");
    const auto [scale, y] = dequantized_product(w, x);
    w.gradient({x}, {x}, y);
    CHECK(count_of(expanded(w), "DequantizeLinear") == 1);
  }
  {
    GraphWriter w;
    const auto [scale, y] = dequantized_product(w, w.input("x"));
    w.gradient({scale}, {scale}, y);
    CHECK(count_of(expanded(w), "DequantizeLinear") == 0);
  }
  {
    // A scale that is computed has a derivative.
    GraphWriter w;
    const Val x = w.input("x");
    const Val elements = w.builder.constant(Tensor(DType::int8, {3}));
    const Val scale = cast(reduce_sum(x, {}, false), DType::float32);
    const Val y = w.builder.node("DequantizeLinear", {elements, scale});
    w.gradient({x}, {x}, y);
    CHECK(count_of(expanded(w), "DequantizeLinear") == 0);
  }
}

TEST_CASE("a constant that a Gradient in a branch may name counts as asked for") {
  GraphWriter w;
  const auto [scale, y] = dequantized_product(w, w.input("x"));
  CHECK(y);
  add_branches(w, scale);
  REQUIRE(autodiff::has_gradient(w.graph));
  const Graph result = expanded(w);
  CHECK(count_of(result, "DequantizeLinear") == 0);
  CHECK_FALSE(autodiff::has_gradient(result));
  // One that names another value leaves the constant alone.
  GraphWriter other;
  const Val x = other.input("x");
  CHECK(dequantized_product(other, x).second);
  add_branches(other, x);
  CHECK(count_of(expanded(other), "DequantizeLinear") == 1);
}

TEST_CASE("a derivative that is asked for is zeros where y does not depend on x") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val z = w.input("z");
  const auto d = w.gradient({x}, {x}, z * z);
  const Graph result = expanded(w);
  const auto last = std::find_if(result.nodes.begin(), result.nodes.end(), [&](const Node& node) {
    return node.outputs == std::vector<ValueId>{d[0].id()};
  });
  REQUIRE(last != result.nodes.end());
  CHECK(last->op->name == "Identity");
  CHECK(result[d[0].id()].type == Type::tensor(DType::float64, Shape{3}));
}

TEST_CASE("a Gradient node that contradicts itself is refused") {
  GraphWriter w;
  const Val x = w.input("x");
  const Val integers = cast(x, DType::int64);
  const Val y = x * x;
  CHECK_THROWS_WITH(w.gradient({integers}, {integers}, y),
                    Catch::Contains("there is no derivative with respect to input 0") &&
                        Catch::Contains("xs must be floating point tensors"));
  const auto refuse = [](const auto& change, const std::string& message) {
    GraphWriter one;
    const Val a = one.input("a");
    const Val b = one.input("b");
    one.gradient({a, b}, {a, b}, a * b);
    change(one.graph.nodes.back());
    CHECK_THROWS_WITH(autodiff::expand(one.graph, catalogue()), Catch::Contains(message));
  };
  refuse([](Node& node) { node.inputs.pop_back(); },
         "Gradient names 2 tensors in xs and zs but has 1 inputs");
  refuse([](Node& node) { node.inputs.push_back(node.inputs[0]); },
         "Gradient names 2 tensors in xs and zs but has 3 inputs");
  refuse(
      [](Node& node) {
        node.attributes[0] = {"xs", Names{"a"}};
      },
      "Gradient has 2 outputs for 1 tensors in xs");
}
