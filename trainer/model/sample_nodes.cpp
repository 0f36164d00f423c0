#include "trainer/model/sample_nodes.h"

#include "graph/contract/catalogue.h"
#include "kernels/catalogue.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

ValueId constant(Graph& graph, std::int64_t number) {
  const ValueId id = graph.add_temporary("bound", Type::tensor(DType::int64, Shape{1}));
  graph[id].constant = Tensor::of<std::int64_t>({1}, {number});
  return id;
}

}  // namespace

std::optional<Node> slice_node(Graph& graph, ValueId x, ValueId y, std::int64_t first,
                               std::int64_t last) {
  static const OpDef* const slice = kernels::catalogue().find("", "Slice");
  if (slice == nullptr) return std::nullopt;
  Node node;
  node.op = slice;
  node.version = 13;
  node.inputs = {x, constant(graph, first), constant(graph, last)};
  node.outputs = {y};
  return node;
}

std::optional<Node> concat_node(std::vector<ValueId> parts, ValueId y) {
  static const OpDef* const concat = kernels::catalogue().find("", "Concat");
  if (concat == nullptr) return std::nullopt;
  Node node;
  node.op = concat;
  node.version = 13;
  node.inputs = std::move(parts);
  node.outputs = {y};
  node.attributes.emplace_back("axis", std::int64_t{0});
  return node;
}

}  // namespace ondine::trainer
