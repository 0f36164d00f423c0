// Bringing the nodes of a graph to one version of the standard's operator set.
#pragma once

#include <cstdint>

#include "graph/contract/builder.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Every node of ai.onnx as version `opset` of the domain defines it; nodes of ai.onnx.ml stay as
// they are. A node that has another form in that version is rewritten, or expanded where the
// version lacks its operator. Throws Error(unsupported) naming the node where neither is possible.
Graph convert_opset(const Graph& graph, std::int64_t opset, const Catalogue& catalogue);

// A node of an older version, to be written as the new one has it.
class OldNode : public ExpandContext {
 public:
  OldNode(Builder& builder, const Node& node, std::int64_t opset)
      : ExpandContext(builder, node), opset_(opset) {}

  std::int64_t opset() const noexcept { return opset_; }
  std::vector<Val> inputs() const;
  Attributes without(std::initializer_list<std::string_view> names) const;
  // Appends the node again with these inputs and attributes.
  std::vector<Val> again(std::span<const Val> inputs, Attributes attributes,
                         std::string_view op = {}) const;

 private:
  std::int64_t opset_;
};

// Whether nodes of `op` mean in version `to` of ai.onnx what they mean in version `from`, as far as
// their inputs and attributes fit.
bool same_meaning(std::string_view op, std::int64_t from, std::int64_t to) noexcept;

// The rule that writes a node of `op` from before version `before` in its present form.
struct OpsetRule {
  std::string_view op;
  std::int64_t before;
  std::vector<Val> (*rewrite)(OldNode&);
};
// nullptr where a node of `version` needs no rule for `opset`.
const OpsetRule* find_opset_rule(std::string_view op, std::int64_t version, std::int64_t opset);

}  // namespace ondine::graph
