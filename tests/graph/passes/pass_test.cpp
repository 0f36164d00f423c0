#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "graph/passes/rewrite.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

std::vector<std::string> visited;

bool note(Graph& graph, const PassContext&) {
  visited.push_back(graph.name);
  return graph.name == "inner";
}

constexpr Pass noting{"noting", note};

Node call(std::vector<std::shared_ptr<const Graph>> bodies, std::vector<ValueId> captures = {}) {
  Node node;
  node.op = &toy_call;
  for (const auto& body : bodies) node.subgraphs.push_back({"body", body, captures});
  return node;
}

std::shared_ptr<Graph> graph_with(const std::string& name, std::vector<Node> nodes = {}) {
  auto graph = std::make_shared<Graph>();
  graph->name = name;
  graph->nodes = std::move(nodes);
  return graph;
}

// Twice `depth` bodies, two in each other.
Graph nested(std::size_t depth) {
  Graph graph;
  for (std::size_t i = 0; i < depth; ++i) {
    Graph outer;
    outer.nodes = {call({std::make_shared<Graph>(std::move(graph)), graph_with("leaf")})};
    graph = std::move(outer);
  }
  return graph;
}

std::size_t visits(Graph graph, const Pass& pass) {
  visited.clear();
  run_pass(graph, pass, {});
  return visited.size();
}

}  // namespace

TEST_CASE("a pass visits each graph once, in the order that it wants") {
  const auto visits_of = [](Visit visit) {
    Graph graph = *graph_with(
        "main", {call({graph_with("outer", {call({graph_with("inner")})}), graph_with("other")})});
    Pass pass = noting;
    pass.visit = visit;
    visited.clear();
    CHECK(run_pass(graph, pass, {}) == (visit != Visit::main_graph));
    return visited;
  };
  CHECK(visits_of(Visit::innermost_first) ==
        std::vector<std::string>{"inner", "outer", "other", "main"});
  CHECK(visits_of(Visit::outermost_first) ==
        std::vector<std::string>{"main", "outer", "inner", "other"});
  CHECK(visits_of(Visit::main_graph) == std::vector<std::string>{"main"});
}

TEST_CASE("twice as many nested graphs are visited twice as often") {
  for (const std::size_t depth : {10, 20, 40}) {
    CAPTURE(depth);
    CHECK(visits(nested(depth), noting) == 2 * depth + 1);
  }
}

TEST_CASE("no pass of the pipeline rewrites a subgraph itself") {
  for (const Step& step : pipeline()) {
    CAPTURE(step.pass->name);
    Graph graph;
    const auto body = graph_with("body");
    Builder inner(*body, toy_catalogue());
    const Val x = inner.value(body->add_value("x", Type::tensor(DType::float32, Shape{2})));
    body->inputs = {x.id()};
    inner.node("Identity", {x});
    body->outputs = {inner.node("Plus", {x, x}).id()};
    const ValueId given = graph.add_value("x", x.type());
    graph.inputs = {given};
    graph.nodes = {call({body}, {given})};
    graph.nodes[0].outputs = {graph.add_temporary("called", x.type())};
    graph.outputs = graph.nodes[0].outputs;
    PassContext context;
    context.catalogue = &toy_catalogue();
    step.pass->run(graph, context);
    CHECK(graph.nodes[0].subgraphs[0].graph == body);
  }
}

TEST_CASE("subgraphs that a pass changes are copies, others stay the same object") {
  const Pass renaming{"renaming", [](Graph& graph, const PassContext&) {
                        graph.name += "!";
                        return graph.name == "changing!";
                      }};
  const auto changing = graph_with("changing");
  const auto kept = graph_with("kept");
  Graph graph = *graph_with("main", {call({changing, kept})});
  CHECK(run_pass(graph, renaming, {}));
  CHECK(graph.nodes[0].subgraphs[0].graph->name == "changing!");
  CHECK(changing->name == "changing");
  CHECK(graph.nodes[0].subgraphs[1].graph == kept);
  CHECK_FALSE(run_pass(graph, renaming, {}));
}

TEST_CASE("each pass of the pipeline has one name, and each fusion stands there once") {
  std::map<std::string_view, const Pass*> passes;
  std::set<std::string_view> fusions;
  for (const Step& step : pipeline()) {
    CHECK(passes.emplace(step.pass->name, step.pass).first->second == step.pass);
    if (step.optional) CHECK(fusions.insert(step.pass->name).second);
  }
}

}  // namespace ondine::test
