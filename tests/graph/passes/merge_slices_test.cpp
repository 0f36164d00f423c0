// Which Slices become one Split.
#include <catch2/catch.hpp>
#include <optional>

#include "graph/contract/catalogue.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT
using Int64s = std::vector<std::int64_t>;

const OpDef slice{.name = "Slice", .bind = bind_nothing};
const OpDef split{.name = "Split", .bind = bind_nothing};

struct Cut {
  std::int64_t start, end;
  std::optional<std::int64_t> axis = 1;
  std::int64_t step = 1;
};

// Result of merging Slices of a value of 2 x `size`, which are all the nodes of the graph.
struct Merged {
  Ops ops;
  Int64s sizes;
  std::vector<ValueId> parts;  // in the order of the cuts

  explicit Merged(const std::vector<Cut>& cuts, Dim size = 6) {
    const std::vector<const OpDef*> list{&slice, &split};
    const Catalogue catalogue(list);
    Graph graph;
    const ValueId x = graph.add_value("x", Type::tensor(DType::float32, Dims{2, size}));
    graph.inputs = {x};
    const auto constant = [&](std::int64_t value) {
      const ValueId id = graph.add_temporary("c", Type::tensor(DType::int64, Dims{1}));
      graph[id].constant = Tensor::of<std::int64_t>({1}, {value});
      return id;
    };
    for (const Cut& cut : cuts) {
      Node node;
      node.op = &slice;
      node.version = 13;
      node.inputs = {x, constant(cut.start), constant(cut.end),
                     cut.axis ? constant(*cut.axis) : no_value, constant(cut.step)};
      node.outputs = {graph.add_temporary("part", Type::tensor(DType::float32, Dims{2, Dim()}))};
      graph.outputs.push_back(node.outputs[0]);
      graph.nodes.push_back(std::move(node));
    }
    parts = graph.outputs;
    PassContext context;
    context.catalogue = &catalogue;
    const bool changed = merge_slices.run(graph, context);
    for (const Node& node : graph.nodes) ops.emplace_back(node.op->name);
    CHECK(changed == (ops.size() < cuts.size()));
    for (const Node& node : graph.nodes) {
      if (node.op != &split) continue;
      const auto values = graph[node.inputs[1]].constant->values<std::int64_t>();
      sizes.assign(values.begin(), values.end());
      outputs = node.outputs;
      axis = NodeView(node).attr_int("axis", 0);
    }
  }
  std::vector<ValueId> outputs;
  std::int64_t axis = -1;
};

}  // namespace

TEST_CASE("slices that share out an axis become one Split, in the order of their elements") {
  const Merged two({{2, 99}, {0, 2}});
  CHECK(two.ops == Ops{"Split"});
  CHECK(two.sizes == Int64s{2, 4});
  CHECK(two.axis == 1);
  CHECK(two.outputs == std::vector<ValueId>{two.parts[1], two.parts[0]});
  const Merged three({{0, 2, -1}, {2, -2, 1}, {-2, 6, 1}});
  CHECK(three.ops == Ops{"Split"});
  CHECK(three.sizes == Int64s{2, 2, 2});
  const Merged first_axis({{0, 1, std::nullopt}, {1, 2, 0}, {0, 3, 1}});
  CHECK(first_axis.ops == Ops{"Split", "Slice"});
  CHECK(first_axis.axis == 0);
  const Merged beside_empty({{0, 2}, {6, 99}, {2, 6}});  // what partial_rotary_factor = 1 leaves
  CHECK(beside_empty.ops == Ops{"Split", "Slice"});
  CHECK(beside_empty.sizes == Int64s{2, 4});
}

TEST_CASE("slices that overlap, leave something out, go in steps or of unknown sizes stay") {
  CHECK(Merged({{0, 2}}).ops.size() == 1);
  CHECK(Merged({{0, 3}, {2, 6}}).ops.size() == 2);
  CHECK(Merged({{0, 2}, {3, 6}}).ops.size() == 2);
  CHECK(Merged({{1, 3}, {3, 6}}).ops.size() == 2);
  CHECK(Merged({{0, 3}, {3, 5}}).ops.size() == 2);
  CHECK(Merged({{0, 6}, {6, 6}}).ops.size() == 2);
  CHECK(Merged({{0, 3}, {3, 6}, {0, 3}}).ops.size() == 3);
  CHECK(Merged({{0, 6, 1, 2}, {1, 6, 1, 2}}).ops.size() == 2);
  CHECK(Merged({{0, 3, 1}, {3, 6, 0}}).ops.size() == 2);
  CHECK(Merged({{0, 3}, {3, 6}}, Dim()).ops.size() == 2);
}

}  // namespace ondine::test
