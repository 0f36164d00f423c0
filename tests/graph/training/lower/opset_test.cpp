// Operators whose meaning changed with a version are not merely given another one.
#include "graph/training/lower/opset.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/signature.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

using Int64s = std::vector<std::int64_t>;
using Inputs = std::vector<Tensor>;

// A node of an operator that changed with `version`, as written before and since.
struct Change {
  std::string op;
  std::int64_t version;
  Inputs before;
  Inputs since;
  Attributes attributes_before = {};
  Attributes attributes_since = {};
};

Tensor floats(std::vector<std::int64_t> dims) {
  return random_floats(Shape{std::span<const std::int64_t>(dims)}, 1, 0.1F, 1);
}

Tensor number(std::int64_t value) { return Tensor::scalar(value); }

std::vector<Change> changes() {
  const Tensor x = floats({2, 3, 4, 4});
  const Tensor row = floats({3});
  const Inputs normalized{x, row, row, row, row};
  const Tensor scales = Tensor::of<float>({4}, {1, 1, 2, 2});
  const Tensor signal = floats({1, 8, 1});
  const Tensor region = floats({8});
  const Attributes groups{{"num_groups", std::int64_t{3}}};
  const std::string bilinear = "bilinear";
  const std::string linear = "linear";
  return {
      {"BatchNormalization", 14, normalized, normalized},
      {"DFT", 20, {signal}, {signal, Tensor(), number(1)}, {{"axis", std::int64_t{1}}}},
      {"GridSample",
       20,
       {x, floats({2, 4, 4, 2})},
       {x, floats({2, 4, 4, 2})},
       {{"mode", bilinear}},
       {{"mode", linear}}},
      {"GroupNormalization", 21, {x, row, row}, {x, row, row}, groups, groups},
      {"Hardmax", 13, {x}, {x}},
      {"LogSoftmax", 13, {x}, {x}},
      {"PRelu", 7, {x, row}, {x, floats({3, 1, 1})}},
      {"Resize", 11, {x, scales}, {x, region, scales}},
      {"Softmax", 13, {x}, {x}},
  };
}

Graph graph_of(const Change& change, std::int64_t version) {
  const bool old = version < change.version;
  Graph graph;
  Builder builder(graph, catalogue());
  std::vector<Val> inputs;
  for (const Tensor& input : old ? change.before : change.since) {
    inputs.push_back(input.defined() ? builder.constant(input) : Val());
  }
  const Attributes& attributes = old ? change.attributes_before : change.attributes_since;
  const auto y = builder.nodes(change.op, inputs, attributes, 1, "", version);
  graph.outputs = {y[0].id()};
  return graph;
}

// Whether the node of version `from` is converted to `to` by another number alone.
bool is_renumbered(const Change& change, std::int64_t from, std::int64_t to) {
  const Graph graph = graph_of(change, from);
  Graph converted;
  try {
    converted = convert_opset(graph, to, catalogue());
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    return false;
  }
  for (const Node& node : converted.nodes) CHECK(node.version == to);
  return converted.nodes.size() == 1 && converted.nodes[0].op == graph.nodes[0].op &&
         converted.nodes[0].inputs == graph.nodes[0].inputs &&
         converted.nodes[0].attributes.size() == graph.nodes[0].attributes.size();
}

}  // namespace

TEST_CASE("a node is renumbered within a meaning and not beyond it, in either direction") {
  for (const Change& change : changes()) {
    CAPTURE(change.op);
    const std::int64_t version = change.version;
    CHECK_FALSE(is_renumbered(change, version - 1, version));
    CHECK_FALSE(is_renumbered(change, version, version - 1));
    CHECK(is_renumbered(change, version, version + 1));
    // The first form of GroupNormalization is deprecated, so that nothing is written in it.
    if (change.op != "GroupNormalization" &&
        find_signature("", change.op, version - 2) != nullptr) {
      CHECK(is_renumbered(change, version - 2, version - 1));
    }
  }
}

TEST_CASE("nodes of branches are converted like those around them") {
  Graph branch;
  Builder inside(branch, catalogue());
  const std::vector input{inside.constant(floats({2, 3}))};
  const Val relu = inside.nodes("Relu", input, {}, 1, "", 6)[0];
  branch.outputs = {relu.id()};
  Graph graph;
  Builder builder(graph, catalogue());
  Node choice;
  choice.op = catalogue().find("", "If");
  choice.version = 11;
  choice.inputs = {builder.constant(Tensor::scalar(true)).id()};
  const auto shared = std::make_shared<const Graph>(branch);
  choice.subgraphs = {{"then_branch", shared, {}}, {"else_branch", shared, {}}};
  choice.outputs = {graph.add_temporary("y", relu.type())};
  graph.nodes.push_back(choice);
  graph.outputs = choice.outputs;
  const Graph converted = convert_opset(graph, 13, catalogue());
  REQUIRE(converted.nodes.size() == 1);
  CHECK(converted.nodes[0].version == 13);
  REQUIRE(converted.nodes[0].subgraphs.size() == 2);
  for (const Subgraph& one : converted.nodes[0].subgraphs) {
    REQUIRE(one.graph->nodes.size() == 1);
    CHECK(one.graph->nodes[0].version == 13);
  }
}

TEST_CASE("rules hold from before their version up to it") {
  for (const auto& [op, version] : std::vector<std::pair<std::string, std::int64_t>>{
           {"Clip", 11}, {"RoiAlign", 16}, {"Upsample", 10}, {"Split", 18}}) {
    CAPTURE(op);
    CHECK(find_opset_rule(op, version - 1, version) != nullptr);
    CHECK(find_opset_rule(op, 1, 28) != nullptr);
    CHECK(find_opset_rule(op, version - 1, version - 1) == nullptr);
    CHECK(find_opset_rule(op, version, version) == nullptr);
    CHECK(find_opset_rule(op, version, version - 1) == nullptr);
  }
  CHECK(find_opset_rule("Relu", 1, 28) == nullptr);
}

}  // namespace ondine::test
