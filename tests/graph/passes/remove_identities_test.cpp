// Which nodes return their input, and which only nearly do.
#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

const OpDef identity{.name = "Identity"};
const OpDef foreign_identity{.name = "Identity", .domain = "org.example"};
const OpDef cast{.name = "Cast"};
const OpDef concat{.name = "Concat"};
const OpDef expand{.name = "Expand"};
const OpDef transpose{.name = "Transpose"};
const OpDef dropout{.name = "Dropout"};
const OpDef pad{.name = "Pad"};
const OpDef slice{.name = "Slice"};
const OpDef sum_to{.name = "SumTo", .domain = "ai.ondine"};
const OpDef foreign_sum_to{.name = "SumTo"};
const OpDef squeeze{.name = "Squeeze", .traits = {.view = true}};

// State of a node's last output: absent, unread or read.
enum class Last { none, unread, read };

struct Row {
  const OpDef& op;
  Type in;
  Type out;
  bool removed;
  Attributes attributes = {};
  std::int64_t version = 13;
  std::vector<Tensor> constants = {};  // inputs from 1 on; none where it is undefined
  std::size_t masks = 0;               // further outputs
  Last last = Last::none;              // of them; the others are not there
  bool named = false;                  // by a Gradient node
};

Type floats(Dims dims) { return Type::tensor(DType::float32, std::move(dims)); }

// Whether the node between two others goes.
bool is_removed(const Row& row) {
  Graph graph;
  const ValueId x = graph.add_value("x", row.in);
  const ValueId h = graph.add_value("h", row.in);
  const ValueId y = graph.add_value("y", row.out);
  const ValueId z = graph.add_value("z", row.out);
  Node node;
  node.op = &row.op;
  node.version = row.version;
  node.attributes = row.attributes;
  node.inputs = {h};
  node.outputs = {y};
  for (const Tensor& tensor : row.constants) {
    node.inputs.push_back(no_value);
    if (!tensor.defined()) continue;
    const ValueId id = graph.add_value("k" + std::to_string(graph.values.size()),
                                       Type::tensor(tensor.dtype(), tensor.shape()));
    graph[id].constant = tensor;
    node.inputs.back() = id;
  }
  for (std::size_t i = 1; i <= row.masks; ++i) {
    const bool there = row.last != Last::none && i == row.masks;
    node.outputs.push_back(there ? graph.add_value("mask", floats({2})) : no_value);
  }
  const auto noise = [](ValueId from, ValueId to) {
    Node made;
    made.op = &toy_noise;
    made.version = 1;
    made.inputs = {from};
    made.outputs = {to};
    return made;
  };
  graph.inputs = {x};
  graph.nodes = {noise(x, h), node, noise(y, z)};
  graph.outputs = {z};
  if (row.last == Last::read) graph.outputs.push_back(node.outputs.back());
  if (row.named) graph.nodes.back().references = {y, z};
  const Limits limits;
  ToyGraph context;
  context.graph = graph;
  context.run(remove_identities);
  const bool gone = context.graph.nodes.size() == 2;
  if (gone) CHECK(context.graph.nodes[1].inputs[0] == h);
  return gone;
}

Tensor int64s(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
Attributes perm(std::vector<std::int64_t> axes) { return {{"perm", std::move(axes)}}; }
Attributes number(const char* name, std::int64_t value) { return {{name, value}}; }

}  // namespace

TEST_CASE("of nodes that may return their input those go that certainly do") {
  const Type two = floats({2});
  const Type open = floats({Dim()});
  const Type named = floats({Dim::symbolic(0)});
  const Type pair = floats({2, 2});
  const Type flat = floats({1, 2, 1, 3});
  const Type unranked = Type::tensor(DType::float32);
  const Tensor off = Tensor::scalar(false);
  const std::vector<Row> rows{
      {identity, two, two, true},
      {identity, unranked, unranked, true},
      {foreign_identity, two, two, false},
      {cast, two, two, true},
      {cast, two, Type::tensor(DType::float64, Dims{2}), false},
      {cast, named, named, true},
      {cast, open, open, true},
      {cast, unranked, unranked, true},
      {cast, open, Type::tensor(DType::float64, Dims{Dim()}), false},
      {concat, two, two, true},
      {concat, two, two, true, {}, 13, {Tensor(DType::float32, {0})}},
      {concat, named, named, false, {}, 13, {Tensor(DType::float32, {2})}},
      {concat, open, open, false},
      {concat, two, floats({3}), false},
      {expand, two, two, true},
      {expand, floats({1}), two, false},
      {expand, two, floats({1, 2}), false},
      {squeeze, two, two, true},
      {squeeze, floats({1, 2}), two, false},
      {sum_to, two, two, true},
      {foreign_sum_to, two, two, false},
      {transpose, pair, pair, true, perm({0, 1})},
      {transpose, pair, pair, false, perm({1, 0})},
      {transpose, pair, pair, false},
      {transpose, two, two, true},
      {transpose, floats({}), floats({}), true},
      {transpose, flat, flat, true, perm({2, 1, 0, 3})},
      {transpose, flat, flat, true, perm({0, 1, 2, 3})},
      {transpose, flat, floats({1, 1, 2, 3}), false, perm({0, 2, 1, 3})},
      {transpose, floats({1, 3, 1, 3}), floats({1, 3, 1, 3}), false, perm({0, 3, 2, 1})},
      {transpose, unranked, unranked, false, perm({0, 1})},
      {transpose, pair, pair, false, perm({0})},
      {transpose, pair, pair, false, perm({0, 2})},
      {transpose, pair, pair, false, perm({-1, 1})},
      {dropout, two, two, false, {}, 6},
      {dropout, two, two, false, number("is_test", 0), 6},
      {dropout, two, two, true, number("is_test", 1), 6},
      {dropout, two, two, true, {}, 7},
      {dropout, two, two, true, {}, 12},
      {dropout, two, two, true, {}, 12, {Tensor(), off}},
      {dropout, two, two, false, {}, 12, {Tensor(), Tensor::scalar(true)}},
      {dropout, two, two, false, {}, 12, {Tensor(), Tensor(DType::boolean, {2})}},
      {dropout, two, two, false, {}, 12, {Tensor(), Tensor::scalar(0.0F)}},
      {dropout, two, two, true, {}, 12, {}, 1},
      {dropout, two, two, true, {}, 12, {}, 1, Last::unread},
      {dropout, two, two, false, {}, 12, {}, 1, Last::read},
      {dropout, two, two, true, {}, 12, {}, 2},
      {dropout, two, two, true, {}, 12, {}, 2, Last::unread},
      {dropout, two, two, false, {}, 12, {}, 2, Last::read},
      {dropout, two, two, false, {}, 12, {}, 1, Last::unread, true},
      {identity, two, two, false, {}, 13, {}, 0, Last::none, true},
      {pad, two, two, true, {}, 13, {int64s({0, 0})}},
      {pad, two, two, false, {}, 13, {int64s({1, -1})}},
      {pad, two, floats({3}), false, {}, 13, {int64s({0, 1})}},
      {pad, two, open, false, {}, 13, {int64s({0, 0})}},
      {pad, two, two, false, {}, 13, {Tensor()}},
      {pad, two, two, false, {}, 2},
      {slice, two, two, true, {}, 9},
      {slice, two, two, true, {}, 13, {int64s({0}), int64s({9}), int64s({0}), int64s({1})}},
      {slice, two, two, false, {}, 13, {int64s({-1}), int64s({-9}), int64s({0}), int64s({-1})}},
      {slice, two, two, true, {}, 13, {int64s({0}), int64s({9})}},
      {slice, two, floats({1}), false, {}, 13, {int64s({0}), int64s({1})}},
      {slice, two, open, false, {}, 13, {int64s({0}), int64s({9})}},
      {slice, named, named, true, {}, 13, {int64s({0}), int64s({9})}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("row " << i << ": " << rows[i].op.name);
    CHECK(is_removed(rows[i]) == rows[i].removed);
  }
}

}  // namespace ondine::test
