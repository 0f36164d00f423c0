#include "trainer/plan/report/plan_bytes.h"

#include <functional>
#include <string>
#include <type_traits>
#include <variant>

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// With what the allocator adds.
std::size_t block(std::size_t bytes) { return bytes == 0 ? 0 : bytes + 16; }

template <class T>
std::size_t block_of(const std::vector<T>& elements) {
  return block(elements.capacity() * sizeof(T));
}

template <class T>
std::size_t block_of(const BoxedList<T>& list) {
  return list.empty() ? 0 : block(sizeof(std::vector<T>)) + block(list.capacity() * sizeof(T));
}

std::size_t block_of(const std::string& text) {
  static const std::size_t inside = std::string().capacity();
  return text.capacity() > inside ? block(text.capacity() + 1) : 0;
}

std::size_t block_of(const Type& type) {
  std::size_t bytes = type.dims ? block_of(*type.dims) : 0;
  if (type.element) bytes += block(sizeof(Type)) + block_of(*type.element);
  return bytes;
}

std::size_t block_of(const Attribute& attribute) {
  const std::size_t data = std::visit(
      []<class T>(const T& value) -> std::size_t {
        if constexpr (std::is_same_v<T, std::string>) {
          return block_of(value);
        } else if constexpr (requires { value.capacity(); }) {
          return block(value.capacity() * sizeof(*value.data()));
        } else {
          return 0;
        }
      },
      attribute.data);
  return data + block_of(attribute.name);
}

std::size_t block_of(const Node& node);

std::size_t block_of(const GraphValue& value) {
  return block_of(value.name) + block_of(value.type) +
         (*value.known_dims ? block(sizeof(*value.known_dims)) + block_of(**value.known_dims) : 0) +
         (value.constant->defined() ? block(sizeof(Tensor)) : 0);
}

std::size_t block_of(const Graph& graph) {
  std::size_t bytes = block_of(graph.values) + block_of(graph.nodes) + block_of(graph.inputs) +
                      block_of(graph.outputs);
  for (const GraphValue& value : graph.values) bytes += block_of(value);
  for (const Node& node : graph.nodes) bytes += block_of(node);
  return bytes;
}

std::size_t block_of(const Node& node) {
  std::size_t bytes = block_of(node.name) + block_of(node.inputs) + block_of(node.outputs) +
                      block_of(node.references) + block_of(node.attributes) +
                      block_of(node.subgraphs);
  for (const Attribute& attribute : node.attributes) bytes += block_of(attribute);
  for (const Subgraph& subgraph : node.subgraphs) {
    bytes += block_of(subgraph.captures);
    // Others hold it too: the graph that was planned.
    if (subgraph.graph.use_count() == 1) bytes += sizeof(Graph) + block_of(*subgraph.graph);
  }
  return bytes;
}

std::size_t own_constants(const Graph& graph, const Graph& source) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Tensor& constant = graph.values[i].constant;
    if (!constant.defined()) continue;
    const bool shared = i < source.values.size() && source.values[i].constant->defined() &&
                        source.values[i].constant->bytes() == constant.bytes();
    if (!shared) bytes += block(constant.bytes());
  }
  return bytes;
}

// Whether the node belongs to the graph itself.
bool has_node(const Graph& graph, const Node& node) {
  const std::less<const Node*> before;
  const Node* const begin = graph.nodes.data();
  return !before(&node, begin) && before(&node, begin + graph.nodes.size());
}

}  // namespace

std::size_t bytes_of(const Plan& plan, const Graph& source) {
  std::size_t bytes = sizeof(Plan) + block_of(plan.graph) + own_constants(plan.graph, source) +
                      block_of(plan.nodes) + block_of(plan.kernels) + block_of(plan.buffer_of) +
                      block_of(plan.buffers) +
                      block((plan.in_place.capacity() + plan.committed.capacity()) / 8);
  if (plan.streaming) {
    bytes += block_of(plan.streaming->constants) + block_of(plan.streaming->events);
    for (const StreamedConstant& one : plan.streaming->constants) bytes += block_of(one.readers);
  }
  for (const PlannedNode& planned : plan.nodes) {
    if (!has_node(source, *planned.node)) bytes += block(sizeof(Node)) + block_of(*planned.node);
  }
  return bytes;
}

}  // namespace ondine::trainer
