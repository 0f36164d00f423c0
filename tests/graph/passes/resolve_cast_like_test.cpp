// Sizes that PyTorch's exporter computes from numbers cast like a size.
#include <catch2/catch.hpp>

#include "graph/evaluate/evaluate_node.h"
#include "kernels/catalogue.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

// Range(CastLike(0., T), T, CastLike(1., T)), T being the size of an input.
Graph range_of_size(const Catalogue& catalogue) {
  Graph graph;
  graph.symbols = std::make_shared<Symbols>();
  const Dim t = graph.symbols->get("T");
  const ValueId x = graph.add_value("x", Type::tensor(DType::float32, Dims{1, t}));
  graph.inputs = {x};
  Builder b(graph, catalogue);
  const Val sizes = b.node("Shape", {b.value(x)}, {{"start", std::int64_t{1}}});
  const Val size = b.node("Squeeze", {sizes});
  const auto number = [&](float value) {
    return b.node("CastLike", {b.constant(Tensor::scalar(value)), size});
  };
  const Val first = number(0);
  const Val step = number(1);
  graph.outputs = {b.node("Range", {first, size, step}).id()};
  return graph;
}

}  // namespace

TEST_CASE("numbers that are cast like a size are constants, and a range of them has its length") {
  const Catalogue catalogue = kernels::catalogue();
  Graph graph = range_of_size(catalogue);
  CHECK_FALSE(graph[graph.outputs[0]].type.dims->front().has_symbol());
  PassContext context;
  context.catalogue = &catalogue;
  context.evaluate = [](const Node& node, const Graph& owner) {
    return evaluate_node(node, owner, Limits{});
  };
  run_passes(graph, context, std::array{resolve_cast_like, fold_shapes, remove_dead_nodes});
  CHECK(*graph[graph.outputs[0]].type.dims == Dims{Dim::symbolic(0)});
  for (const Node& node : graph.nodes) CHECK(node.op->name != "CastLike");
}

TEST_CASE("CastLike of a value becomes Cast to the dtype of the other, with its attributes") {
  const Catalogue catalogue = kernels::catalogue();
  Graph graph;
  const ValueId x = graph.add_value("x", Type::tensor(DType::float32, Dims{2}));
  const ValueId like = graph.add_value("like", Type::tensor(DType::float8e5m2, Dims{}));
  graph.inputs = {x, like};
  Builder b(graph, catalogue);
  graph.outputs = {
      b.node("CastLike", {b.value(x), b.value(like)}, {{"saturate", std::int64_t{0}}}).id()};
  PassContext context;
  context.catalogue = &catalogue;
  run_passes(graph, context, std::array{resolve_cast_like});
  const NodeView node(graph.nodes[0]);
  CHECK(graph.nodes[0].op->name == "Cast");
  CHECK(graph.nodes[0].inputs.size() == 1);
  CHECK(node.attr_int("saturate", 1) == 0);
  CHECK(node.attr_int("to", 0) == static_cast<std::int64_t>(DType::float8e5m2));
}

}  // namespace ondine::test
