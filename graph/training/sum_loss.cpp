#include "graph/training/sum_loss.h"

#include <algorithm>
#include <vector>

#include "graph/ir/attribute_value.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

bool is_sum(const NodeDef& node) {
  if (!node.domain.empty()) return false;
  if (one_of(node.op, {"ReduceSum", "ReduceSumSquare", "ReduceL1"})) return true;
  if (!one_of(node.op, {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"})) return false;
  const Attribute* const reduction = find(node.attributes, "reduction");
  return reduction != nullptr && value_of<std::string>(*reduction, node.op) != "mean";
}

bool is_linear(const NodeDef& node) {
  return node.domain.empty() &&
         one_of(node.op, {"Identity", "Cast", "Neg", "Add", "Sub", "Sum", "Mul", "Div", "Squeeze",
                          "Unsqueeze", "Reshape", "Flatten"});
}

}  // namespace

const NodeDef* sums_rows(const std::unordered_map<std::string, const NodeDef*>& producers,
                         const std::set<std::string, std::less<>>& local, const std::string& loss) {
  std::vector<std::string> open{loss};
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const auto found = producers.find(name);
    if (!local.contains(name) || found == producers.end() || !seen.insert(name).second) continue;
    const NodeDef& node = *found->second;
    if (is_sum(node)) return &node;
    if (!is_linear(node)) continue;
    std::vector<std::string> terms;
    std::copy_if(node.inputs.begin(), node.inputs.end(), std::back_inserter(terms),
                 [&](const std::string& input) { return local.contains(input); });
    // A quotient by what the rows give is a mean, as that of a weighted loss.
    const bool mixes = terms.size() > 1 && (node.op == "Mul" || node.op == "Div");
    if (!mixes) open.insert(open.end(), terms.begin(), terms.end());
  }
  return nullptr;
}

}  // namespace ondine::graph
