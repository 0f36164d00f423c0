#include "graph/contract/catalogue_trace.h"

#include <catch2/catch.hpp>

#include "graph/ir/graph.h"
#include "tests/graph/passes/toy.h"

using namespace ondine;
using namespace ondine::graph;
using test::toy_catalogue;

using Found = std::set<const OpDef*>;

TEST_CASE("the innermost trace records what is looked up, unless it pauses") {
  CHECK_FALSE(CatalogueTrace::is_active());
  CatalogueTrace outer;
  CHECK(CatalogueTrace::is_active());
  toy_catalogue().find("", "Plus");
  toy_catalogue().find("", "Nothing");
  {
    const CatalogueTrace inner;
    toy_catalogue().find("", "Minus");
    CHECK(inner.found() == Found{&test::toy_minus});
  }
  {
    const CatalogueTrace::Pause pause;
    CHECK_FALSE(CatalogueTrace::is_active());
    toy_catalogue().find("", "Noise");
  }
  CHECK(outer.found() == Found{&test::toy_plus});
  toy_catalogue().find("", "View");
  CHECK(outer.found() == Found{&test::toy_plus, &test::toy_view});
}

TEST_CASE("a trace records the operators of a graph and of its subgraphs") {
  const auto with = [](const OpDef& op) {
    Graph graph;
    graph.nodes.emplace_back().op = &op;
    return graph;
  };
  Graph graph = with(test::toy_call);
  graph.nodes[0].subgraphs = {{"body", std::make_shared<Graph>(with(test::toy_plus)), {}}};
  CatalogueTrace::note(graph);  // nobody records
  const CatalogueTrace trace;
  CatalogueTrace::note(graph);
  CHECK(trace.found() == Found{&test::toy_call, &test::toy_plus});
}
