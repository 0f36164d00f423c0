#include "graph/training/prepare/packing/sources.h"

#include <algorithm>
#include <vector>

#include "graph/training/prepare/names.h"

namespace ondine::graph {

IntegerSources::IntegerSources(const GraphDef& graph) : producers_(producers_of(graph)) {
  for (const ValueDef& input : graph.inputs) inputs_.insert(input.name);
  for (const InitializerDef& one : graph.initializers) inputs_.erase(one.name);
}

IntegerSources::Found IntegerSources::sources_of(const std::string& value) const {
  Found found;
  std::set<std::string> seen;
  std::vector<std::string> open{value};
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!seen.insert(name).second) continue;
    if (inputs_.contains(name)) found.inputs.insert(name);
    const auto producer = producers_.find(name);
    if (producer == producers_.end()) continue;
    const NodeDef& node = *producer->second;
    if (node.domain.empty() && one_of(node.op, {"Shape", "Size"})) continue;
    if (is_standard(node, "CumSum")) found.is_summed = true;
    for (const std::string& read : reads_of(node)) open.push_back(read);
  }
  return found;
}

bool IntegerSources::counts_tokens(const std::string& value) const {
  const Found found = sources_of(value);
  return found.is_summed || std::all_of(found.inputs.begin(), found.inputs.end(),
                                        [](const auto& name) { return name == "position_ids"; });
}

std::string IntegerSources::input_of(const std::string& value) const {
  const Found found = sources_of(value);
  return !found.is_summed && found.inputs.size() == 1 ? *found.inputs.begin() : std::string();
}

}  // namespace ondine::graph
