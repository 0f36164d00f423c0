// How many inputs and outputs the graphs of control flow operators have, one more and one less.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using graph::GraphDef;
using graph::ModelDef;
using graph::NodeDef;

std::string join(const std::string& prefix, std::size_t i) { return prefix + std::to_string(i); }

// A graph whose outputs are its own constants. Inputs that have an initializer of the name are the
// last ones.
GraphDef graph_with(std::size_t inputs, std::size_t outputs, std::size_t initialized = 0) {
  GraphDef graph;
  graph.name = "body";
  for (std::size_t i = 0; i < inputs; ++i) graph.inputs.push_back(value(join("in", i)));
  for (std::size_t i = 0; i < initialized; ++i) {
    graph.inputs.push_back(value(join("fixed", i)));
    graph.initializers.push_back(initializer(join("fixed", i), {1, 2}));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    graph.nodes.push_back(node("Neg", {"x"}, {join("out", i)}));
    graph.outputs.push_back(value(join("out", i)));
  }
  return graph;
}

// Only findings about the numbers count here: types are not the matter.
std::vector<std::string> counts_of(const NodeDef& of, std::int64_t opset = 21,
                                   std::int64_t ir_version = 10) {
  ModelDef model = sample_model();
  model.ir_version = ir_version;
  model.opsets[0].version = opset;
  model.graph.nodes = {of, node("Mul", {"x", "w"}, {"y"})};
  std::vector<std::string> found;
  std::istringstream lines(findings_of(model));
  for (std::string line; std::getline(lines, line);) {
    const bool counts = line.find("the operator needs") != std::string::npos ||
                        line.find("branches with") != std::string::npos ||
                        line.find("num_scan_inputs") != std::string::npos;
    if (counts) found.push_back(line);
  }
  return found;
}

NodeDef operator_with(const std::string& op, std::size_t inputs, std::size_t outputs,
                      graph::Attributes attributes) {
  NodeDef made = node(op, std::vector<std::string>(inputs, "x"), {}, std::move(attributes));
  for (std::size_t i = 0; i < outputs; ++i) made.outputs.push_back(join("r", i));
  return made;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("branches of If have no inputs and the outputs of the node, both as many") {
  const auto choice = [](const GraphDef& first, const GraphDef& second) {
    return operator_with("If", 1, 2, {{"then_branch", body(first)}, {"else_branch", body(second)}});
  };
  CHECK(counts_of(choice(graph_with(0, 2), graph_with(0, 2))).empty());
  // The node may leave out the last ones.
  CHECK(counts_of(choice(graph_with(0, 3), graph_with(0, 3))).empty());
  CHECK(counts_of(choice(graph_with(1, 2), graph_with(0, 2))) ==
        Lines{"node 'r0' ('If') has a graph 'then_branch' with 1 inputs, the operator needs 0"});
  CHECK(counts_of(choice(graph_with(0, 2), graph_with(2, 2))) ==
        Lines{"node 'r0' ('If') has a graph 'else_branch' with 2 inputs, the operator needs 0"});
  CHECK(counts_of(choice(graph_with(0, 1), graph_with(0, 1))) ==
        Lines{"node 'r0' ('If') has a graph 'then_branch' with 1 outputs, the operator needs 2",
              "node 'r0' ('If') has a graph 'else_branch' with 1 outputs, the operator needs 2"});
  CHECK(counts_of(choice(graph_with(0, 2), graph_with(0, 3))) ==
        Lines{"node 'r0' ('If') has branches with 2 and 3 outputs"});
  CHECK(counts_of(choice(graph_with(0, 4), graph_with(0, 3))) ==
        Lines{"node 'r0' ('If') has branches with 4 and 3 outputs"});
}

TEST_CASE("the body of a Loop takes number, condition and carried values and returns one less") {
  const auto loop = [](std::size_t inputs, std::size_t outputs, const GraphDef& graph) {
    return operator_with("Loop", inputs, outputs, {{"body", body(graph)}});
  };
  // Carried values and what is collected of each iteration.
  CHECK(counts_of(loop(4, 2, graph_with(4, 3))).empty());
  CHECK(counts_of(loop(4, 3, graph_with(4, 4))).empty());
  CHECK(counts_of(loop(4, 2, graph_with(3, 3))) ==
        Lines{"node 'r0' ('Loop') has a graph 'body' with 3 inputs, the operator needs 4"});
  CHECK(counts_of(loop(4, 2, graph_with(5, 3))) ==
        Lines{"node 'r0' ('Loop') has a graph 'body' with 5 inputs, the operator needs 4"});
  CHECK(counts_of(loop(4, 2, graph_with(4, 2))) ==
        Lines{"node 'r0' ('Loop') has a graph 'body' with 2 outputs, the operator needs 3"});
  CHECK(counts_of(loop(4, 3, graph_with(4, 3))) ==
        Lines{"node 'r0' ('Loop') has a graph 'body' with 3 outputs, the operator needs 4"});
  // Without carried values, with all inputs there or with some left out.
  CHECK(counts_of(loop(2, 1, graph_with(2, 2))).empty());
  CHECK(counts_of(loop(1, 1, graph_with(2, 2))).empty());
  CHECK(counts_of(loop(2, 1, graph_with(2, 1))) ==
        Lines{"node 'r0' ('Loop') has a graph 'body' with 1 outputs, the operator needs 2"});
  // One output fewer than there are carried values.
  CHECK(counts_of(loop(5, 1, graph_with(5, 3))) ==
        Lines{"node 'r0' ('Loop') has a graph 'body' with 3 outputs, the operator needs 4"});
}

TEST_CASE("inputs of a body that only list an initializer are not passed to it") {
  const auto loop = [](const GraphDef& graph) {
    return operator_with("Loop", 3, 1, {{"body", body(graph)}});
  };
  CHECK(counts_of(loop(graph_with(3, 2, 1)), 10, 3).empty());
  CHECK(counts_of(loop(graph_with(2, 2, 1)), 10, 3) ==
        Lines{"node 'r0' ('Loop') has a graph 'body' with 2 inputs, the operator needs 3"});
  GraphDef sparse = graph_with(3, 2);
  sparse.inputs.push_back(value("rare"));
  graph::SparseTensorDef rare;
  rare.name = "rare";
  rare.values = Tensor::of<float>({1}, {3.0F});
  rare.indices = Tensor::of<std::int64_t>({1}, {1});
  rare.dims = {2};
  sparse.sparse_initializers = {rare};
  CHECK(counts_of(loop(sparse), 10, 3).empty());
}

TEST_CASE("the body of a Scan takes states and slices and returns states and results") {
  const auto scan = [](std::size_t inputs, std::int64_t slices, std::size_t outputs,
                       const GraphDef& graph) {
    return operator_with("Scan", inputs, outputs,
                         {{"body", body(graph)}, {"num_scan_inputs", slices}});
  };
  CHECK(counts_of(scan(3, 1, 3, graph_with(3, 3))).empty());
  CHECK(counts_of(scan(3, 3, 1, graph_with(3, 1))).empty());
  CHECK(counts_of(scan(3, 1, 3, graph_with(2, 3))) ==
        Lines{"node 'r0' ('Scan') has a graph 'body' with 2 inputs, the operator needs 3"});
  CHECK(counts_of(scan(3, 1, 3, graph_with(3, 2))) ==
        Lines{"node 'r0' ('Scan') has a graph 'body' with 2 outputs, the operator needs 3"});
  // Two states are two outputs, even if the node has one.
  CHECK(counts_of(scan(3, 1, 1, graph_with(3, 1))) ==
        Lines{"node 'r0' ('Scan') has a graph 'body' with 1 outputs, the operator needs 2"});
  for (const std::int64_t slices : {-1, 0, 4}) {
    CHECK(counts_of(scan(3, slices, 3, graph_with(3, 3))) ==
          Lines{"node 'r0' ('Scan') has num_scan_inputs " + std::to_string(slices) +
                " with 3 inputs"});
  }
}

TEST_CASE("up to version 8 the first input of a Scan holds lengths") {
  const auto scan = [](std::size_t inputs, std::int64_t slices, const GraphDef& graph) {
    return operator_with("Scan", inputs, 2, {{"body", body(graph)}, {"num_scan_inputs", slices}});
  };
  CHECK(counts_of(scan(3, 1, graph_with(2, 2)), 8, 3).empty());
  CHECK(counts_of(scan(3, 1, graph_with(3, 2)), 8, 3) ==
        Lines{"node 'r0' ('Scan') has a graph 'body' with 3 inputs, the operator needs 2"});
  CHECK(counts_of(scan(3, 3, graph_with(2, 2)), 8, 3) ==
        Lines{"node 'r0' ('Scan') has num_scan_inputs 3 with 2 inputs"});
  CHECK(counts_of(scan(3, 1, graph_with(2, 2)), 9, 3) ==
        Lines{"node 'r0' ('Scan') has a graph 'body' with 2 inputs, the operator needs 3"});
}

TEST_CASE("the body of a SequenceMap takes an element of each input") {
  const auto map = [](std::size_t inputs, std::size_t outputs, const GraphDef& graph) {
    return operator_with("SequenceMap", inputs, outputs, {{"body", body(graph)}});
  };
  CHECK(counts_of(map(2, 1, graph_with(2, 1))).empty());
  CHECK(counts_of(map(2, 1, graph_with(1, 1))) ==
        Lines{"node 'r0' ('SequenceMap') has a graph 'body' with 1 inputs, the operator needs 2"});
  CHECK(counts_of(map(1, 2, graph_with(1, 1))) ==
        Lines{"node 'r0' ('SequenceMap') has a graph 'body' with 1 outputs, the operator needs 2"});
}

TEST_CASE("operators of other domains have graphs of their own rules") {
  NodeDef other = operator_with("If", 1, 1, {{"then_branch", body(graph_with(3, 0))}});
  other.domain = "elsewhere";
  CHECK(counts_of(other).empty());
}

}  // namespace ondine::test
