#include "graph/resolve/dim_classes.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

using namespace ondine;
using namespace ondine::graph;

namespace {

const Dim a = Dim::symbolic(0);
const Dim b = Dim::symbolic(1);
const Dim c = Dim::symbolic(2);

Type tensor(Dims dims) { return Type::tensor(DType::float32, std::move(dims)); }

// Variables a, b, c and d.
Graph with_variables() {
  Graph result;
  auto symbols = std::make_shared<Symbols>();
  symbols->names = {"a", "b", "c", "d"};
  result.symbols = symbols;
  return result;
}

void declare(Graph& graph, const std::string& name, const Type& declared, const Type& type) {
  const ValueId id = graph.add_value(name, type);
  graph[id].declared = declared;
}

Node holder(const std::string& attribute, const Graph& body) {
  Node node;
  node.subgraphs = {{attribute, std::make_shared<Graph>(body), {}}};
  return node;
}

}  // namespace

TEST_CASE("variables that one dim was declared and inferred with are the same") {
  Graph main = with_variables();
  declare(main, "x", tensor({a, 2}), tensor({b, 2}));
  declare(main, "y", tensor({c}), tensor({b}));
  declare(main, "again", tensor({b}), tensor({a}));
  const DimClasses classes = dim_classes(main);
  CHECK(classes.representative(0) == classes.representative(1));
  CHECK(classes.representative(2) == classes.representative(1));
  CHECK(classes.representative(3) == 3);
  CHECK(classes.representative(4) == 4);  // beyond: it stands for itself
  CHECK(classes.size(0) == -1);
  CHECK(classes.size(4) == -1);
}

TEST_CASE("a size that is known of one variable is known of all that are the same") {
  Graph main = with_variables();
  declare(main, "x", tensor({a}), tensor({5}));
  declare(main, "y", tensor({a}), tensor({b}));
  declare(main, "z", tensor({c}), tensor({b}));
  declare(main, "o", Type::optional(tensor({Dim::symbolic(3)})), Type::optional(tensor({0})));
  DimClasses classes = dim_classes(main);
  for (const std::uint32_t symbol : {0U, 1U, 2U}) CHECK(classes.size(symbol) == 5);
  CHECK(classes.size(3) == 0);
  declare(main, "bad", tensor({c}), tensor({6}));
  CHECK_THROWS_WITH(
      dim_classes(main),
      Catch::Contains("value 'bad' has 6 for dim 'c', which is 5 elsewhere in the model"));
}

TEST_CASE("variables of two sizes are not the same") {
  Graph main = with_variables();
  declare(main, "x", tensor({a}), tensor({5}));
  declare(main, "y", tensor({b}), tensor({5}));
  declare(main, "z", tensor({a}), tensor({b}));
  CHECK(dim_classes(main).size(1) == 5);
  Graph other = with_variables();
  declare(other, "x", tensor({a}), tensor({5}));
  declare(other, "y", tensor({b}), tensor({0}));
  declare(other, "z", tensor({a}), tensor({b}));
  CHECK_THROWS_WITH(dim_classes(other), Catch::Contains("value 'z' has 5 for dim 'b', which is 0"));
}

TEST_CASE("bodies say of variables what the graph says, branches do not") {
  Graph body = with_variables();
  declare(body, "x", tensor({a}), tensor({5}));
  for (const auto& [attribute, size] :
       {std::pair{"body", 5}, std::pair{"then_branch", -1}, std::pair{"else_branch", -1}}) {
    Graph main = with_variables();
    main.nodes = {holder(attribute, body)};
    CHECK(dim_classes(main).size(0) == size);
  }
}

TEST_CASE("where dims or ranks are not known nothing is said") {
  Graph main = with_variables();
  declare(main, "x", Type::tensor(DType::float32), tensor({5}));
  declare(main, "y", tensor({a}), Type::tensor(DType::float32));
  declare(main, "z", tensor({a, b}), tensor({5}));
  declare(main, "s", Type::sequence(tensor({a})), Type::sequence(tensor({5})));
  declare(main, "k", tensor({4}), tensor({a}));
  declare(main, "o", tensor({a}), tensor({Dim()}));
  CHECK(dim_classes(main).size(0) == -1);
  CHECK(dim_classes(main).representative(0) == 0);
}

TEST_CASE("declared dims are forgotten but for inputs, in subgraphs too; ranks stay") {
  Graph body = with_variables();
  declare(body, "inside", tensor({3}), tensor({3}));
  Graph main = with_variables();
  declare(main, "input", tensor({2}), tensor({2}));
  declare(main, "made", tensor({2, a}), tensor({2, 7}));
  declare(main, "open", tensor({2}), Type::tensor(DType::float32));
  declare(main, "undeclared", Type(), tensor({2}));
  main.inputs = {0};
  main.nodes = {holder("body", body)};
  forget_declared_dims(main);
  CHECK(*main[0].declared == tensor({2}));
  CHECK(*main[1].declared == tensor({Dim(), Dim()}));
  CHECK(*main[2].declared == Type::tensor(DType::float32));
  CHECK(*main[3].declared == Type());
  CHECK(main[1].type == tensor({2, 7}));
  CHECK(*main.nodes[0].subgraphs[0].graph->values[0].declared == tensor({Dim()}));
}
