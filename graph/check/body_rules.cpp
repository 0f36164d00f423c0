// How many values go into and come out of the graphs of the standard's control flow operators.
#include <algorithm>

#include "graph/check/rules.h"

namespace ondine::graph {
namespace {

const GraphDef* body_of(const NodeDef& node, std::string_view attribute) {
  const Attribute* found = find(node.attributes, attribute);
  if (found == nullptr) return nullptr;
  const auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&found->data);
  return body == nullptr ? nullptr : body->get();
}

// Inputs that are not merely listed initializers.
std::size_t formal_inputs(const GraphDef& body) {
  std::set<std::string_view> initialized;
  for (const auto& initializer : body.initializers) initialized.insert(initializer.name);
  for (const auto& sparse : body.sparse_initializers) initialized.insert(sparse.name);
  return static_cast<std::size_t>(
      std::count_if(body.inputs.begin(), body.inputs.end(),
                    [&](const ValueDef& input) { return !initialized.contains(input.name); }));
}

// What the operator asks of one body.
struct BodyShape {
  std::string_view attribute;
  std::size_t inputs = 0;
  std::size_t least_outputs = 0;  // besides those that the node has
  std::size_t extra_outputs = 0;  // outputs that are none of the node
};

void check_body(const NodeDef& node, const BodyShape& shape, const Site& site) {
  const GraphDef* body = body_of(node, shape.attribute);
  if (body == nullptr) return;
  if (const std::size_t inputs = formal_inputs(*body); inputs != shape.inputs) {
    site.reject(node, "has a graph '", shape.attribute, "' with ", inputs, " inputs, it needs ",
                shape.inputs);
  }
  const std::size_t outputs = body->outputs.size();
  const std::size_t needed =
      std::max(shape.least_outputs, node.outputs.size() + shape.extra_outputs);
  if (outputs < needed) {
    site.reject(node, "has a graph '", shape.attribute, "' with ", outputs, " outputs, it needs ",
                needed);
  }
}

void check_if(const NodeDef& node, const Site& site) {
  check_body(node, {"then_branch"}, site);
  check_body(node, {"else_branch"}, site);
  const GraphDef* first = body_of(node, "then_branch");
  const GraphDef* second = body_of(node, "else_branch");
  if (first == nullptr || second == nullptr) return;
  if (first->outputs.size() != second->outputs.size()) {
    site.reject(node, "has branches with ", first->outputs.size(), " and ", second->outputs.size(),
                " outputs");
  }
}

void check_loop(const NodeDef& node, const Site& site) {
  const std::size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
  check_body(node, {"body", carried + 2, carried + 1, 1}, site);
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
  check_body(node, {"body", inputs, inputs - static_cast<std::size_t>(*count), 0}, site);
}

}  // namespace

void check_bodies(const NodeDef& node, std::int64_t version, const Site& site) {
  if (!canonical_domain(node.domain).empty()) return;
  if (node.op == "If") check_if(node, site);
  if (node.op == "Loop") check_loop(node, site);
  if (node.op == "Scan") check_scan(node, version, site);
  if (node.op == "SequenceMap") check_body(node, {"body", node.inputs.size()}, site);
}

}  // namespace ondine::graph
