// The limits that apply to a model definition.
#include <algorithm>

#include "graph/check/rules.h"
#include "graph/ir/walk.h"

namespace ondine::graph {
namespace {

int depth_of(const GraphDef& graph, int max_depth);

int depth_of(const std::vector<NodeDef>& nodes, int max_depth) {
  int deepest = 0;
  if (max_depth <= 0) return 0;
  for (const auto& node : nodes) {
    for_each_subgraph(node, [&](const Attribute&, const GraphDef& subgraph) {
      deepest = std::max(deepest, 1 + depth_of(subgraph, max_depth - 1));
    });
  }
  return deepest;
}

int depth_of(const GraphDef& graph, int max_depth) { return depth_of(graph.nodes, max_depth); }

class LimitCheck {
 public:
  explicit LimitCheck(CheckContext& context) : limits_(context.limits), context_(context) {}

  void graph(const GraphDef& root) {
    for_each_graph(root, [&](const GraphDef& graph) {
      name(graph.name);
      for (const auto& initializer : graph.initializers) {
        name(initializer.name);
        tensor(initializer.name, initializer.value);
      }
      for (const auto& sparse : graph.sparse_initializers) {
        name(sparse.name);
        count(sparse.name, sparse.values.dtype(), sparse.dims);
      }
      for (const auto* values : {&graph.inputs, &graph.outputs, &graph.value_infos}) {
        for (const auto& value : *values) name(value.name);
      }
      for (const auto& node : graph.nodes) this->node(node);
    });
  }

  void function(const FunctionDef& function) {
    name(function.name);
    for_each_node(function.nodes, [&](const NodeDef& each) { node(each); });
    for (const auto* names : {&function.inputs, &function.outputs, &function.attributes}) {
      for (const auto& each : *names) name(each);
    }
  }

 private:
  void node(const NodeDef& node) {
    name(node.name);
    name(node.op);
    name(node.domain);
    for (const auto& input : node.inputs) name(input);
    for (const auto& output : node.outputs) name(output);
    for (const auto& attribute : node.attributes) {
      name(attribute.name);
      if (const Tensor* one = tensor_of(attribute)) tensor(node.name, *one);
      if (const auto* one = std::get_if<Boxed<SparseTensorDef>>(&attribute.data)) {
        count(node.name, (*one)->values.dtype(), (*one)->dims);
      }
    }
  }

  void name(const std::string& text) {
    if (text.size() <= limits_.name_length) return;
    context_.findings.add(ErrorCode::limit, "name ", quoted(text), " has ", text.size(),
                          " bytes, the limit is ", limits_.name_length);
  }

  void tensor(const std::string& owner, const Tensor& tensor) {
    if (tensor.defined()) count(owner, tensor.dtype(), tensor.shape());
  }

  void count(const std::string& owner, DType dtype, const Shape& shape) {
    context_.findings.collect([&] {
      const std::uint64_t elements = static_cast<std::uint64_t>(shape.size());
      std::uint64_t bytes = 0;
      if (__builtin_mul_overflow(elements, size_of(dtype), &bytes) ||
          bytes > limits_.tensor_bytes) {
        fail(ErrorCode::limit, "tensor ", quoted(owner), " of shape ", shape, " is too large");
      }
      if (shape.rank() > limits_.rank) {
        fail(ErrorCode::limit, "tensor ", quoted(owner), " has ", shape.rank(), " dimensions");
      }
      const std::uint64_t before = bytes_;
      bytes_ = bytes > limits_.weight_bytes ? limits_.weight_bytes + 1
                                            : std::min(bytes_ + bytes, limits_.weight_bytes + 1);
      if (before <= limits_.weight_bytes && bytes_ > limits_.weight_bytes) {
        fail(ErrorCode::limit, "with tensor ", quoted(owner),
             " the model has more than the limit of ", limits_.weight_bytes, " bytes of weights");
      }
    });
  }

  const Limits& limits_;
  CheckContext& context_;
  std::uint64_t bytes_ = 0;
};

template <class Visit>
void for_each_top_graph(const ModelDef& model, Visit visit) {
  visit(model.graph);
  for (const auto& info : model.training) {
    if (info.initialization) visit(*info.initialization);
    if (info.algorithm) visit(*info.algorithm);
  }
}

}  // namespace

bool check_limits(CheckContext& context) {
  const ModelDef& model = context.model;
  const Limits& limits = context.limits;
  int depth = 0;
  for_each_top_graph(model, [&](const GraphDef& graph) {
    depth = std::max(depth, depth_of(graph, limits.subgraph_depth + 1));
  });
  for (const auto& function : model.functions) {
    depth = std::max(depth, depth_of(function.nodes, limits.subgraph_depth + 1));
  }
  if (depth > limits.subgraph_depth) {
    context.findings.add(ErrorCode::limit, "graphs are nested more than ", limits.subgraph_depth,
                         " deep");
    return false;
  }
  if (model.functions.size() > limits.functions) {
    context.findings.add(ErrorCode::limit, "the model has ", model.functions.size(),
                         " functions, the limit is ", limits.functions);
  }
  LimitCheck check(context);
  for_each_top_graph(model, [&](const GraphDef& graph) { check.graph(graph); });
  for (const auto& function : model.functions) check.function(function);
  return true;
}

}  // namespace ondine::graph
