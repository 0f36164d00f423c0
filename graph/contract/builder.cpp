#include "graph/contract/builder.h"

#include "core/scalar.h"
#include "graph/contract/infer_node.h"
#include "graph/contract/node_limit.h"
#include "graph/contract/ops.h"

namespace ondine::graph {

const Type& Val::type() const {
  if (id_ == no_value) fail(ErrorCode::internal, "type of an empty value");
  return builder_->graph()[id_].type;
}

std::vector<Val> Builder::nodes(std::string_view op, std::span<const Val> inputs,
                                Attributes attributes, std::size_t outputs, std::string_view domain,
                                std::int64_t version) {
  Node node;
  node.op = catalogue_->find(domain, op);
  if (node.op == nullptr) fail(ErrorCode::internal, "operator ", op, " is not in the catalogue");
  node.version = version;
  node.attributes = std::move(attributes);
  for (const Val input : inputs) node.inputs.push_back(input.id());
  while (!node.inputs.empty() && node.inputs.back() == no_value) node.inputs.pop_back();
  std::vector<Val> results;
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(graph_->add_temporary(std::string(op)));
    results.emplace_back(*this, node.outputs.back());
  }
  append(std::move(node));
  return results;
}

void Builder::append(Node node) {
  if (expand_when_ && node.op->expand != nullptr && expand_when_(node)) return expand(node);
  require_room(*graph_);
  infer_node(node, *graph_);
  if (node.origin == nullptr) node.origin = origin_;
  graph_->nodes.push_back(std::move(node));
}

void Builder::expand(const Node& node) {
  const MadeFrom origin(*this, node);
  with_context(
      [&] {
        // The rule of the operator itself may reject inputs that its expansion would accept.
        Node checked = node;
        infer_node(checked, *graph_);
        ExpandContext context(*this, node);
        const auto results = node.op->expand(context);
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
          if (node.outputs[i] == no_value) continue;
          if (i >= results.size() || !results[i]) {
            fail(ErrorCode::unsupported, "output ", i, " is not supported");
          }
          alias(results[i], node.outputs[i]);
        }
      },
      [&] { return describe(node, *graph_); });
}

Builder Builder::inside(Graph& subgraph) const {
  Builder inner(subgraph, *catalogue_);
  inner.expand_when_ = expand_when_;
  inner.origin_ = origin_;
  return inner;
}

MadeFrom::MadeFrom(Builder& builder, const Node& node, std::string_view part)
    : builder_(&builder), outermost_(builder.origin_ == nullptr) {
  if (!outermost_) return;
  if (part.empty() && node.origin) {
    builder.origin_ = node.origin;
    return;
  }
  const std::string text = cat(part, describe(node, *builder.graph_));
  // A copy has no more room than it needs; a model may have very many.
  builder.origin_ = std::make_shared<const std::string>(std::string_view(text));
}

void Builder::alias(Val source, ValueId target) {
  Node node;
  node.op = catalogue_->find("", "Identity");
  if (node.op == nullptr) fail(ErrorCode::internal, "operator Identity is not in the catalogue");
  node.version = latest_version;
  node.inputs = {source.id()};
  node.outputs = {target};
  append(std::move(node));
}

Val Builder::constant(Tensor tensor, std::string_view hint) {
  const auto id =
      graph_->add_temporary(std::string(hint), Type::tensor(tensor.dtype(), tensor.shape()));
  (*graph_)[id].constant = std::move(tensor);
  return value(id);
}

Val Builder::scalar(double value, DType dtype) { return constant(scalar_tensor(value, dtype)); }

Val Builder::int64s(std::vector<std::int64_t> values) {
  return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

Val Builder::int64(std::int64_t value) { return constant(Tensor::scalar(value)); }

Val GradContext::y(std::size_t i) const {
  Graph& graph = builder_->graph();
  // The output is added to the graph's node; this context reads a copy.
  Node& forward = graph.nodes[forward_];
  if (i < forward.outputs.size() && forward.outputs[i] != no_value) {
    return builder_->value(forward.outputs[i]);
  }
  if (i >= forward.outputs.size()) forward.outputs.resize(i + 1, no_value);
  forward.outputs[i] = graph.add_temporary(cat(forward.op->name, "_output", i));
  infer_node(forward, graph);
  return builder_->value(forward.outputs[i]);
}

Val GradContext::dy_or_zeros(std::size_t i) const {
  const Val given = dy(i);
  return given ? given : zeros_like(y(i));
}

std::size_t GradContext::first_capture(std::size_t subgraph) const {
  std::size_t index = node().inputs.size();
  for (std::size_t i = 0; i < subgraph; ++i) index += node().subgraphs[i].captures.size();
  return index;
}

}  // namespace ondine::graph
