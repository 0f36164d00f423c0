#include "graph/contract/ops.h"
#include "graph/contract/subgraph_builder.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;

namespace {

// SequenceMap with the body (a, b) -> (a + b, Shape(a)) on a sequence and `other`.
std::vector<Value> map_sum(const std::vector<Tensor>& elements, const Value& other) {
  std::vector<Value> values(elements.begin(), elements.end());
  const Value sequence = Value::sequence(values);
  Graph graph;
  Builder builder(graph, catalogue());
  builder.set_expand([](const Node& node) { return node.op->bind == nullptr; });
  graph.inputs = {
      graph.add_temporary("x", Type::sequence(Type::tensor(DType::float32, Dims{Dim()}))),
      graph.add_temporary("y", type_of(other))};
  SubgraphBuilder body(builder);
  const Val a = body.add_formal("a", Type::tensor(DType::float32, Dims{Dim()}));
  const Val b = body.add_formal("b", Type::tensor(DType::float32, Dims{Dim()}));
  const std::vector<Val> outputs{a + b, shape_of(a)};
  const std::vector<Val> inputs{builder.value(graph.inputs[0]), builder.value(graph.inputs[1])};
  for (const Val y :
       control_node(builder, "SequenceMap", inputs, {body.finish("body", outputs)}, 2)) {
    graph.outputs.push_back(y.id());
  }
  return evaluate(graph, std::vector<Value>{sequence, other});
}

}  // namespace

TEST_CASE("SequenceMap applies its body to every element") {
  const std::vector<Tensor> elements{iota({3}), iota({1}), iota({0})};
  const auto with_tensor = map_sum(elements, Tensor::of<float>({1}, std::vector<float>{10}));
  REQUIRE(with_tensor[0].elements().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& y = with_tensor[0].elements()[i].tensor();
    REQUIRE(y.shape() == elements[i].shape());
    for (std::size_t k = 0; k < y.values<float>().size(); ++k) {
      CHECK(y.values<float>()[k] == static_cast<float>(k) + 10);
    }
    CHECK(with_tensor[1].elements()[i].tensor().identical(int64s({elements[i].size()})));
  }
  const auto with_sequence =
      map_sum(elements, Value::sequence({Value(iota({3})), Value(iota({1})), Value(iota({0}))}));
  CHECK(with_sequence[0].elements()[0].tensor().item<float>(2) == 4);
  CHECK(map_sum({}, iota({1}))[0].elements().empty());
}

TEST_CASE("SequenceMap refuses sequences that end early") {
  CHECK_THROWS_AS(map_sum({iota({3}), iota({1})}, Value::sequence({Value(iota({3}))})), Error);
}
