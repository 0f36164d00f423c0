// Numbers of inputs and outputs of the subgraphs of the standard's control flow operators.
#include <algorithm>

#include "graph/check/rules.h"

namespace ondine::graph {
namespace {

const GraphDef* subgraph_of(const NodeDef& node, std::string_view attribute) {
  const Attribute* found = find(node.attributes, attribute);
  if (found == nullptr) return nullptr;
  const auto* subgraph = std::get_if<std::shared_ptr<const GraphDef>>(&found->data);
  return subgraph == nullptr ? nullptr : subgraph->get();
}

// Inputs without those that only list an initializer.
std::size_t formal_inputs(const GraphDef& subgraph) {
  std::set<std::string_view> initialized;
  for (const auto& initializer : subgraph.initializers) initialized.insert(initializer.name);
  for (const auto& sparse : subgraph.sparse_initializers) initialized.insert(sparse.name);
  return static_cast<std::size_t>(
      std::count_if(subgraph.inputs.begin(), subgraph.inputs.end(),
                    [&](const ValueDef& input) { return !initialized.contains(input.name); }));
}

// Requirements of the operator on one subgraph.
struct SubgraphShape {
  std::string_view attribute;
  std::size_t inputs = 0;
  std::size_t min_outputs = 0;
  std::size_t extra_outputs = 0;  // outputs beyond those of the node
};

void check_subgraph(const NodeDef& node, const SubgraphShape& shape, const Site& site) {
  const GraphDef* subgraph = subgraph_of(node, shape.attribute);
  if (subgraph == nullptr) return;
  if (const std::size_t inputs = formal_inputs(*subgraph); inputs != shape.inputs) {
    site.reject(node, "has a graph '", shape.attribute, "' with ", inputs,
                " inputs, the operator needs ", shape.inputs);
  }
  const std::size_t outputs = subgraph->outputs.size();
  const std::size_t needed = std::max(shape.min_outputs, node.outputs.size() + shape.extra_outputs);
  if (outputs < needed) {
    site.reject(node, "has a graph '", shape.attribute, "' with ", outputs,
                " outputs, the operator needs ", needed);
  }
}

void check_if(const NodeDef& node, const Site& site) {
  check_subgraph(node, {"then_branch"}, site);
  check_subgraph(node, {"else_branch"}, site);
  const GraphDef* first = subgraph_of(node, "then_branch");
  const GraphDef* second = subgraph_of(node, "else_branch");
  if (first == nullptr || second == nullptr) return;
  if (first->outputs.size() != second->outputs.size()) {
    site.reject(node, "has branches with ", first->outputs.size(), " and ", second->outputs.size(),
                " outputs");
  }
}

void check_loop(const NodeDef& node, const Site& site) {
  const std::size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
  check_subgraph(node, {"body", carried + 2, carried + 1, 1}, site);
}

void check_scan(const NodeDef& node, std::int64_t version, const Site& site) {
  const Attribute* attribute = find(node.attributes, "num_scan_inputs");
  const auto* count = attribute ? std::get_if<std::int64_t>(&attribute->data) : nullptr;
  if (count == nullptr) return;
  const std::size_t before = version < 9 ? 1 : 0;  // sequence_lens
  const std::size_t inputs = node.inputs.size() < before ? 0 : node.inputs.size() - before;
  if (*count < 1 || static_cast<std::uint64_t>(*count) > inputs) {
    return site.reject(node, "has num_scan_inputs ", *count, " with ", inputs, " inputs");
  }
  check_subgraph(node, {"body", inputs, inputs - static_cast<std::size_t>(*count), 0}, site);
}

}  // namespace

void check_subgraphs(const NodeDef& node, std::int64_t version, const Site& site) {
  if (!canonical_domain(node.domain).empty()) return;
  if (node.op == "If") check_if(node, site);
  if (node.op == "Loop") check_loop(node, site);
  if (node.op == "Scan") check_scan(node, version, site);
  if (node.op == "SequenceMap") check_subgraph(node, {"body", node.inputs.size()}, site);
}

}  // namespace ondine::graph
