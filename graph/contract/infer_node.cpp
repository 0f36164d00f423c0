#include "graph/contract/infer_node.h"

#include "graph/contract/op_def.h"

namespace ondine::graph {
namespace {

std::vector<Type> infer_resolved_subgraph(Node& node, Graph& graph, std::size_t index,
                                          std::span<const Type> formals) {
  Subgraph& subgraph = node.subgraphs[index];
  if (formals.size() != subgraph.formal_inputs()) {
    fail(ErrorCode::invalid_model, "graph ", quoted(subgraph.attribute), " has ",
         subgraph.formal_inputs(), " inputs, the operator passes ", formals.size());
  }
  std::vector<Type> types(formals.begin(), formals.end());
  std::vector<Tensor> constants(types.size());
  for (const ValueId captured : subgraph.captures) {
    types.push_back(graph[captured].type);
    constants.push_back(graph[captured].constant);
  }
  auto typed = std::make_shared<Graph>(retype(*subgraph.graph, types, constants));
  std::vector<Type> outputs;
  for (const ValueId output : typed->outputs) outputs.push_back((*typed)[output].type);
  subgraph.graph = std::move(typed);
  return outputs;
}

// A subgraph that may never run keeps its previous types if it does not fit these shapes; the call
// that takes it fails.
std::vector<Type> infer_subgraph(Node& node, Graph& graph, std::size_t index,
                                 std::span<const Type> formals) {
  const Subgraph& subgraph = node.subgraphs[index];
  try {
    return infer_resolved_subgraph(node, graph, index, formals);
  } catch (const Error& error) {
    if (!node.op->traits.takes_one_subgraph || error.code() != ErrorCode::mismatch) throw;
  }
  std::vector<Type> outputs;
  for (const ValueId output : subgraph.graph->outputs) {
    outputs.push_back((*subgraph.graph)[output].type);
  }
  return outputs;
}

// An int64 vector or scalar whose elements are all known is a constant.
void set_known(GraphValue& value, const std::optional<Dims>& known) {
  value.known_dims = known;
  value.constant = {};
  if (!known || value.type.dtype != DType::int64) return;
  std::vector<std::int64_t> elements;
  for (const Dim dim : *known) {
    if (!dim.known()) return;
    elements.push_back(dim.size());
  }
  const auto shape = value.type.shape();
  if (!shape || shape->size() != static_cast<std::int64_t>(elements.size())) return;
  value.constant = Tensor::of<std::int64_t>(*shape, elements);
}

}  // namespace

void set_type(Graph& graph, ValueId id, const Type& inferred) {
  GraphValue& value = graph[id];
  if (!compatible(inferred, value.declared)) {
    fail(ErrorCode::mismatch, "value ", quoted(value.name), " is declared as ",
         to_string(value.declared), " but is ", to_string(inferred));
  }
  value.type = merge(inferred, value.declared);
}

// An operator whose result has the type of an input says nothing where the model declares none.
[[noreturn]] static void fail_without_type(const Node& node, const Graph& graph,
                                           std::size_t output) {
  for (const ValueId id : node.inputs) {
    if (id != no_value && graph[id].type.kind == TypeKind::unknown) {
      fail(ErrorCode::invalid_model, "the type of value ", quoted(graph[id].name), " is not known");
    }
  }
  fail(ErrorCode::internal, "the type of output ", output, " was not inferred");
}

void infer_node(Node& node, Graph& graph, const InferContext::InferSubgraph& infer_subgraph) {
  with_context(
      [&] {
        std::vector<InferContext::Input> inputs;
        for (const ValueId id : node.inputs) {
          InferContext::Input input;
          if (id != no_value) {
            const GraphValue& value = graph[id];
            input.type = &value.type;
            if (value.constant->defined()) input.constant = &*value.constant;
            if (*value.known_dims) input.known_dims = &**value.known_dims;
          }
          inputs.push_back(input);
        }
        InferContext context(node, inputs, infer_subgraph);
        node.op->infer(context);
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
          if (node.outputs[i] == no_value) continue;
          const auto& output = context.outputs()[i];
          if (output.type.kind == TypeKind::unknown) fail_without_type(node, graph, i);
          set_type(graph, node.outputs[i], output.type);
          set_known(graph[node.outputs[i]], output.known_dims);
        }
      },
      [&] { return describe(node, graph); });
}

void infer_node(Node& node, Graph& graph) {
  infer_node(node, graph, [&](std::size_t subgraph, std::span<const Type> formals) {
    return infer_subgraph(node, graph, subgraph, formals);
  });
}

Graph retype(const Graph& graph, std::span<const Type> inputs, std::span<const Tensor> constants) {
  Graph typed = graph;
  for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
    set_type(typed, typed.inputs[i], inputs[i]);
    if (i < constants.size() && constants[i].defined())
      typed[typed.inputs[i]].constant = constants[i];
  }
  for (Node& node : typed.nodes) infer_node(node, typed);
  return typed;
}

}  // namespace ondine::graph
