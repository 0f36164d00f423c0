// Builder: appends nodes to a graph. Derivatives, expansions and passes are written with it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "graph/contract/catalogue.h"
#include "graph/contract/node_view.h"

namespace ondine::graph {

class Builder;

// A value of the graph under construction, or none.
class Val {
 public:
  Val() = default;
  Val(Builder& builder, ValueId id) : builder_(&builder), id_(id) {}

  explicit operator bool() const noexcept { return id_ != no_value; }
  ValueId id() const noexcept { return id_; }
  Builder& builder() const noexcept { return *builder_; }
  const Type& type() const;
  DType dtype() const { return type().dtype; }
  bool ranked() const { return type().ranked(); }
  std::size_t rank() const { return type().rank(); }
  const Dims& dims() const { return *type().dims; }

 private:
  Builder* builder_ = nullptr;
  ValueId id_ = no_value;
};

// Not thread-safe. Types are inferred as nodes are appended, so every value has its type.
class Builder {
 public:
  Builder(Graph& graph, const Catalogue& catalogue) : graph_(&graph), catalogue_(&catalogue) {}

  Graph& graph() const noexcept { return *graph_; }
  const Catalogue& catalogue() const noexcept { return *catalogue_; }
  Val value(ValueId id) { return {*this, id}; }

  // Appends a node of the newest version (or `version`) and returns its outputs.
  std::vector<Val> nodes(std::string_view op, std::span<const Val> inputs, Attributes attributes,
                         std::size_t outputs, std::string_view domain = {},
                         std::int64_t version = latest_version);
  Val node(std::string_view op, std::initializer_list<Val> inputs, Attributes attributes = {},
           std::string_view domain = {}) {
    return nodes(op, {inputs.begin(), inputs.size()}, std::move(attributes), 1, domain)[0];
  }
  // Appends a complete node; its outputs must have ids, their types are inferred here.
  void append(Node node);

  Val constant(Tensor tensor, std::string_view hint = "constant");
  // Rank 0.
  Val scalar(double value, DType dtype);
  Val int64s(std::vector<std::int64_t> values);  // rank 1
  Val int64(std::int64_t value);                 // rank 0

  // Opset version of appended nodes, whatever version the model imports.
  static constexpr std::int64_t latest_version = 28;
  // Nodes for which `when` is true are replaced by their operator's expansion, recursively.
  void set_expand(std::function<bool(const Node&)> when) { expand_when_ = std::move(when); }
  // A builder for a subgraph, with the same catalogue, expansion rule and origin.
  Builder inside(Graph& subgraph) const;
  // Defines `target` as the value of `source` by an Identity node.
  void alias(Val source, ValueId target);

 private:
  friend class MadeFrom;

  void expand(const Node& node);

  Graph* graph_;
  const Catalogue* catalogue_;
  std::function<bool(const Node&)> expand_when_;
  std::shared_ptr<const std::string> origin_;  // of the nodes that are appended now
};

// While it lives, appended nodes have the origin `part` + describe(node). Within another, the outer
// one counts.
class MadeFrom {
 public:
  MadeFrom(Builder& builder, const Node& node, std::string_view part = {});
  MadeFrom(const MadeFrom&) = delete;
  MadeFrom& operator=(const MadeFrom&) = delete;
  ~MadeFrom() {
    if (outermost_) builder_->origin_ = nullptr;
  }

 private:
  Builder* builder_;
  bool outermost_;
};

// Differentiates within a subgraph: appends to `builder` the derivatives of sum_k <ys[k], dys[k]>
// with respect to `xs` (all are values of the builder's graph) and returns them, empty where the
// sum does not depend on an x.
using Differentiate = std::function<std::vector<Val>(
    Builder& builder, std::span<const Val> ys, std::span<const Val> dys, std::span<const Val> xs)>;

// The argument of a gradient rule: x are the forward inputs, y the forward outputs, dy the
// derivatives with respect to y.
class GradContext : public NodeView {
 public:
  // `forward` is the index of the node in the builder's graph.
  GradContext(Builder& builder, std::size_t forward, const Node& node, std::span<const Val> dy,
              std::span<const char> wanted, const Differentiate& differentiate)
      : NodeView(node),
        builder_(&builder),
        forward_(forward),
        dy_(dy),
        wanted_(wanted),
        differentiate_(&differentiate) {}

  Builder& builder() const noexcept { return *builder_; }
  Val x(std::size_t i) const { return has_input(i) ? builder_->value(node().inputs[i]) : Val(); }
  // Adds the output to the forward node if that omits it.
  Val y(std::size_t i) const;
  // Empty when the differentiated value does not depend on output i.
  Val dy(std::size_t i) const { return i < dy_.size() ? dy_[i] : Val(); }
  Val dy_or_zeros(std::size_t i) const;
  // Whether the derivative with respect to input i is needed; others may be left empty.
  bool wants(std::size_t i) const { return i < wanted_.size() && wanted_[i] != 0; }
  // Index in Node::all_inputs() of the first capture of a subgraph.
  std::size_t first_capture(std::size_t subgraph) const;
  const Differentiate& differentiate() const noexcept { return *differentiate_; }

 private:
  Builder* builder_;
  std::size_t forward_;
  std::span<const Val> dy_;
  std::span<const char> wanted_;  // over node().all_inputs()
  const Differentiate* differentiate_;
};

class ExpandContext : public NodeView {
 public:
  ExpandContext(Builder& builder, const Node& node) : NodeView(node), builder_(&builder) {}
  Builder& builder() const noexcept { return *builder_; }
  Val x(std::size_t i) const { return has_input(i) ? builder_->value(node().inputs[i]) : Val(); }

 private:
  Builder* builder_;
};

}  // namespace ondine::graph
