// Names that nodes and graphs read, hold and rename, through nested subgraphs.
#include "graph/training/prepare/names.h"

#include <catch2/catch.hpp>

#include "graph/training/prepare/renaming.h"
#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using test::node;

namespace {

using Set = std::set<std::string>;
using List = std::vector<std::string>;
using Body = std::shared_ptr<const GraphDef>;

ValueDef named(const std::string& name) {
  ValueDef value;
  value.name = name;
  return value;
}

// Reads `read` from outside and, in a body of its own, `deep`.
GraphDef nested(const std::string& read, const std::string& deep) {
  GraphDef inner;
  inner.nodes = {node("Relu", {deep}, {"inner.y"})};
  inner.outputs = {named("inner.y")};
  GraphDef outer;
  outer.inputs = {named("outer.in")};
  outer.initializers = {{"outer.c", Tensor::scalar(1.0F), "", {}}};
  outer.sparse_initializers = {
      {"outer.s", Tensor::of<float>({1}, {5}), Tensor::of<std::int64_t>({1}, {6}), Shape{9}}};
  outer.nodes = {
      node("Sum", {"outer.in", "outer.c", "", read, "outer.s"}, {"outer.h"}),
      node("If", {"outer.h"}, {"outer.y"}, {{"then_branch", std::make_shared<GraphDef>(inner)}})};
  outer.outputs = {named("outer.y"), named("handed.on")};
  return outer;
}

const GraphDef& body_of(const NodeDef& holder, std::size_t attribute) {
  return *std::get<Body>(holder.attributes.at(attribute).data);
}

}  // namespace

TEST_CASE("a graph captures what it reads from outside, at any depth") {
  CHECK(captured_names(nested("a", "b")) == Set{"a", "b", "handed.on"});
  CHECK(captured_names(nested("outer.in", "outer.c")) == Set{"handed.on"});
  CHECK(captured_names(nested("outer.s", "outer.h")) == Set{"handed.on"});
}

TEST_CASE("a node reads its inputs that are there and what its subgraphs capture") {
  const auto first = std::make_shared<GraphDef>(nested("a", "b"));
  const auto second = std::make_shared<GraphDef>(nested("c", "d"));
  const NodeDef holder = node("Call", {"x", "", "y"}, {"z"},
                              {{"one", first}, {"many", std::vector<Body>{second, first}}});
  CHECK(subgraphs_of(holder) == std::vector<Body>{first, second, first});
  CHECK(reads_of(holder) ==
        List{"x", "y", "a", "b", "handed.on", "c", "d", "handed.on", "a", "b", "handed.on"});
  GraphDef graph;
  graph.nodes = {holder};
  graph.outputs = {named("z"), named("w")};
  CHECK(reads_of(graph) == Set{"x", "y", "a", "b", "c", "d", "handed.on", "z", "w"});
}

TEST_CASE("values are renamed where a node and its subgraphs read them, and nowhere else") {
  const auto touched = std::make_shared<GraphDef>(nested("a", "b"));
  const auto other = std::make_shared<GraphDef>(nested("c", "d"));
  NodeDef holder =
      node("Call", {"a", "", "x"}, {"a.out"},
           {{"one", touched}, {"none", other}, {"many", std::vector<Body>{other, touched}}});
  const Renaming names{
      {"a", "A"}, {"b", "B"}, {"handed.on", "H"}, {"inner.y", "wrong"}, {"a.out", "wrong"}};
  CHECK(renamed(names, "a") == "A");
  CHECK(renamed(names, "z") == "z");
  rename_reads(holder, names);
  CHECK(holder.inputs == List{"A", "", "x"});
  CHECK(holder.outputs == List{"a.out"});
  const auto& many = std::get<std::vector<Body>>(holder.attributes[2].data);
  for (const GraphDef* changed : {&body_of(holder, 0), many[1].get()}) {
    CHECK(changed->nodes[0].inputs == List{"outer.in", "outer.c", "", "A", "outer.s"});
    CHECK(body_of(changed->nodes[1], 0).nodes[0].inputs == List{"B"});
    CHECK(body_of(changed->nodes[1], 0).outputs[0].name == "inner.y");
    CHECK(changed->outputs[0].name == "outer.y");
    CHECK(changed->outputs[1].name == "H");
  }
  CHECK(touched->nodes[0].inputs[3] == "a");  // others may hold it
  CHECK(body_of(holder, 1).nodes[0].inputs[3] == "c");
  CHECK(body_of(holder, 1).outputs[1].name == "H");
}

TEST_CASE("subgraphs that read nothing that is renamed stay the same object") {
  const auto other = std::make_shared<GraphDef>(nested("c", "d"));
  NodeDef holder = node("Call", {"x"}, {"y"}, {{"one", other}});
  rename_reads(holder, {{"x", "X"}, {"outer.in", "wrong"}});
  CHECK(holder.inputs == List{"X"});
  CHECK(std::get<Body>(holder.attributes[0].data) == other);
}

TEST_CASE("fresh names differ from every name of a model and from each other") {
  ModelDef model;
  model.graph.inputs = {named("in")};
  model.graph.outputs = {named("out")};
  model.graph.value_infos = {named("info")};
  model.graph.initializers = {{"c", Tensor::scalar(1.0F), "", {}}};
  model.graph.sparse_initializers = {
      {"s", Tensor::of<float>({1}, {5}), Tensor::of<std::int64_t>({1}, {6}), Shape{9}}};
  model.graph.nodes = {
      node("If", {"read"}, {"made"}, {{"body", std::make_shared<GraphDef>(nested("a", "b"))}})};
  model.graph.nodes[0].name = "node";
  TrainingInfoDef& info = model.training.emplace_back();
  info.initialization.emplace().outputs = {named("start")};
  info.algorithm.emplace().outputs = {named("step")};
  Names names(model);
  for (const char* name : {"in", "out", "info", "c", "s", "node", "read", "made", "start", "step",
                           "outer.c", "inner.y", "b"}) {
    INFO(name);
    CHECK(names.contains(name));
    CHECK(names.fresh(name) == std::string(name) + "_1");
    CHECK(names.fresh(name) == std::string(name) + "_2");
  }
  CHECK_FALSE(names.contains("new"));
  CHECK(names.fresh("new") == "new");
  CHECK(names.fresh("new") == "new_1");
}
