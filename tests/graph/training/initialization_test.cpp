// Variables and names of a model that its initialization graphs see.
#include "graph/training/initialization.h"

#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using Names = std::set<std::string, std::less<>>;

SparseTensorDef sparse(const std::string& name) {
  return {name, Tensor::of<float>({1}, {4}), Tensor::of<std::int64_t>({1}, {1}), Shape{2}};
}

// Variables w and s of the main graph, m and t of the step, of which s and t are sparse; k, kept,
// is none.
ModelDef model_with(GraphDef initialization) {
  ModelDef model = sample_training_model();
  model.graph.initializers.push_back(initializer("k", {5, 6}));
  model.graph.sparse_initializers = {sparse("s"), sparse("kept")};
  TrainingInfoDef& info = model.training[0];
  info.algorithm->initializers = {initializer("m", {7, 8})};
  info.algorithm->sparse_initializers = {sparse("t")};
  for (const char* name : {"s", "m", "t"}) info.update_binding.emplace_back(name, "w_new");
  info.initialization = std::move(initialization);
  return model;
}

template <class Defs>
std::vector<std::string> names_of(const Defs& defs) {
  std::vector<std::string> names;
  for (const auto& one : defs) names.push_back(one.name);
  return names;
}

}  // namespace

TEST_CASE("an initialization gets the variables that it reads as its initializers, no others") {
  GraphDef start;
  start.nodes = {node("Sum", {"w", "s", "k", "kept"}, {"a"}), node("Add", {"a", "t"}, {"b"})};
  start.outputs = {value("b")};
  const InitializationGraph made = initialization_graph(model_with(start), 0);
  using List = std::vector<std::string>;
  CHECK(names_of(made.graph.initializers) == List{"w"});
  CHECK(names_of(made.graph.sparse_initializers) == List{"s", "t"});
  CHECK(made.variables == Names{"s", "t", "w"});
  start.nodes = {node("Identity", {"m"}, {"b"})};
  const InitializationGraph other = initialization_graph(model_with(start), 0);
  CHECK(names_of(other.graph.initializers) == List{"m"});
  CHECK(other.graph.sparse_initializers.empty());
}

TEST_CASE("names that an initialization defines are not free") {
  GraphDef start;
  start.inputs = {value("w")};
  start.initializers = {initializer("m", {1, 2})};
  start.sparse_initializers = {sparse("s")};
  start.nodes = {node("Sum", {"w", "m", "s"}, {"t"})};
  start.outputs = {value("t")};
  CHECK(free_names(start).empty());
  const InitializationGraph made = initialization_graph(model_with(start), 0);
  CHECK(made.variables.empty());
  CHECK(made.graph.initializers.size() == 1);
  CHECK(made.graph.sparse_initializers.size() == 1);
  GraphDef inner;
  inner.nodes = {node("Identity", {"outer"}, {"c"})};
  inner.outputs = {value("other")};
  start.nodes = {node("If", {"w"}, {"t"}, {{"then_branch", body(inner)}})};
  CHECK(free_names(start) == std::set<std::string_view>{"other", "outer"});
}
