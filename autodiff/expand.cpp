#include "autodiff/expand.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "autodiff/backward.h"
#include "autodiff/outer_path.h"
#include "autodiff/reevaluate.h"
#include "core/message.h"
#include "core/system/pages.h"
#include "graph/contract/infer.h"
#include "graph/contract/ops.h"

namespace ondine::autodiff {
namespace {

using namespace graph;  // NOLINT

// Output i has the type of input i, the value at which to differentiate with respect to xs[i].
void infer_gradient(InferContext& context) {
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const Type& x = context.input(i);
    if (!differentiable(x)) {
      context.reject("there is no derivative with respect to input ", i, ", a ", to_string(x),
                     ": xs must be floating point tensors");
    }
    context.set_output(i, x);
  }
}

// The tensors that a Gradient node names, and the inputs that replace xs and zs.
struct Request {
  std::vector<Val> xs;
  std::vector<Val> zs;
  std::vector<Val> at;
  Val y;
};

Request read_request(Builder& builder, const Node& node) {
  const std::size_t x_count = NodeView(node).attr_strings("xs").size();
  const std::size_t named = node.references.size() - 1;
  if (node.inputs.size() != named) {
    fail(ErrorCode::invalid_model, "Gradient names ", named, " tensors in xs and zs but has ",
         node.inputs.size(), " inputs");
  }
  if (node.outputs.size() > x_count) {
    fail(ErrorCode::invalid_model, "Gradient has ", node.outputs.size(), " outputs for ", x_count,
         " tensors in xs");
  }
  Request request;
  for (std::size_t i = 0; i < named; ++i) {
    (i < x_count ? request.xs : request.zs).push_back(builder.value(node.references[i]));
    request.at.push_back(builder.value(node.inputs[i]));
    const Type& wanted = builder.value(node.references[i]).type();
    if (!join(wanted, request.at.back().type())) {
      fail(ErrorCode::invalid_model, "input ", i, " is a ", to_string(request.at.back().type()),
           ", the tensor it replaces is a ", to_string(wanted));
    }
  }
  request.y = builder.value(node.references.back());
  if (!request.y.type().is_tensor()) {
    fail(ErrorCode::invalid_model, "y is ", quoted(NodeView(node).attr_string("y", "")), ", a ",
         to_string(request.y.type()), ", not a tensor");
  }
  return request;
}

void evaluate_at_inputs(Builder& builder, Dataflow& flow, Request& request) {
  Reevaluation reevaluation(builder, flow);
  for (std::size_t i = 0; i < request.at.size(); ++i) {
    Val& named = i < request.xs.size() ? request.xs[i] : request.zs[i - request.xs.size()];
    named = reevaluation.replace(named, request.at[i]);
  }
  request.y = reevaluation.evaluate(request.y);
}

void emit_gradient(Builder& builder, Dataflow& flow, const Node& node) {
  Request request = read_request(builder, node);
  const bool forward_values =
      std::equal(request.at.begin(), request.at.end(), node.references.begin(),
                 [](Val at, ValueId named) { return at.id() == named; });
  if (!forward_values) evaluate_at_inputs(builder, flow, request);
  std::vector<Val> derivatives(request.xs.size());
  if (differentiable(request.y.type())) {
    const Val seed = full_like(request.y, 1);
    derivatives = backward(builder, flow, {&request.y, 1}, {&seed, 1}, request.xs, request.zs);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == no_value) continue;
    builder.alias(derivatives[i] ? derivatives[i] : zeros_like(request.xs[i]), node.outputs[i]);
  }
}

bool lacks_derivative(const Node& node) {
  return node.op->grad == nullptr && node.op->no_gradient != any_input;
}

// Whether a Gradient node names a value, or may name it in a subgraph, indexed by value id.
std::vector<bool> named_values(const Graph& graph) {
  std::vector<bool> named(graph.values.size());
  const auto mark = [&](ValueId id) {
    if (id != no_value) named[static_cast<std::size_t>(id)] = true;
  };
  for (const Node& node : graph.nodes) {
    std::for_each(node.references.begin(), node.references.end(), mark);
    for (const Subgraph& subgraph : node.subgraphs) {
      if (!has_gradient(*subgraph.graph)) continue;
      std::for_each(subgraph.captures.begin(), subgraph.captures.end(), mark);
    }
  }
  return named;
}

// Whether no derivative can be asked of the node: dequantized weights stay one operator.
bool is_constant(const Node& node, const Graph& graph, const std::vector<bool>& named) {
  return node.subgraphs.empty() &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
           if (id == no_value) return true;
           const auto index = static_cast<std::size_t>(id);
           return graph[id].constant->defined() && !(index < named.size() && named[index]);
         });
}

// A node and its derivatives are hardly ever more nodes than this, nor do they add more values.
constexpr std::size_t derivative_room = 8;

// Takes pages of their own for large blocks, which go back to the system as soon as they are freed.
template <class T>
struct Pages {
  using value_type = T;

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(maps_pages(bytes) ? map_pages(bytes) : ::operator new(bytes));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    maps_pages(bytes) ? unmap_pages(memory, bytes) : ::operator delete(memory);
  }
  friend bool operator==(const Pages&, const Pages&) noexcept { return true; }
};

// Nodes whose memory goes piece by piece, while that of their derivatives comes.
using Piece = std::vector<Node, Pages<Node>>;

std::vector<Piece> in_pieces(std::vector<Node> nodes) {
  constexpr std::size_t most = 8192;
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < nodes.size(); at += most) {
    const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(most, nodes.size() - at));
    pieces.emplace_back(std::make_move_iterator(first), std::make_move_iterator(last));
  }
  return pieces;
}

Graph expand_graph(Graph graph, const Catalogue& catalogue, bool derivatives) {
  const std::vector<bool> named = named_values(graph);
  std::vector<Piece> pieces = in_pieces(std::exchange(graph.nodes, {}));
  std::size_t count = 0;
  for (const Piece& piece : pieces) count += piece.size();
  if (derivatives) {
    // Room that stays untouched takes no memory; moving everything to more room takes it twice.
    graph.nodes.reserve(derivative_room * count);
    graph.values.reserve(graph.values.size() + derivative_room * count);
  }
  Builder builder(graph, catalogue);
  Dataflow flow(graph);
  builder.set_expand([&, derivatives](const Node& node) {
    return node.op->bind == nullptr ||
           (derivatives && lacks_derivative(node) && !is_constant(node, graph, named));
  });
  const auto append = [&](Node& node) {
    for (Subgraph& subgraph : node.subgraphs) {
      Graph inner = *subgraph.graph;
      OuterPath path(graph, flow, inner, subgraph.captures);
      inner = expand_graph(std::move(inner), catalogue, derivatives);
      path.remove_from(inner);
      subgraph.graph = std::make_shared<Graph>(std::move(inner));
    }
    if (node.op == &gradient_op) {
      with_context([&] { emit_gradient(builder, flow, node); },
                   [&] { return describe(node, builder.graph()); });
    } else {
      builder.append(std::move(node));
    }
  };
  for (Piece& piece : pieces) {
    for (Node& node : piece) append(node);
    Piece().swap(piece);
  }
  return graph;
}

}  // namespace

const OpDef gradient_op{
    .name = "Gradient", .domain = "ai.onnx.preview.training", .infer = infer_gradient};

bool has_gradient(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op == &gradient_op ||
           std::any_of(node.subgraphs.begin(), node.subgraphs.end(),
                       [](const Subgraph& subgraph) { return has_gradient(*subgraph.graph); });
  });
}

Graph expand(Graph graph, const Catalogue& catalogue) {
  const bool derivatives = has_gradient(graph);
  return expand_graph(std::move(graph), catalogue, derivatives);
}

}  // namespace ondine::autodiff
