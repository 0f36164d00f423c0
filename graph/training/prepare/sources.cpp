#include "graph/training/prepare/sources.h"

#include <utility>
#include <vector>

#include "graph/training/prepare/parameters/origin.h"

namespace ondine::graph {

Sources::Sources(const GraphDef& graph, const GraphSignature& signature) {
  if (signature.entries().empty()) return;
  for (const InitializerDef& one : graph.initializers) {
    if (signature.place(one.name) >= 0) sources_.emplace(one.name, one.name);
    note(signature, one.name, one.metadata);
  }
  for (const ValueDef& one : graph.value_infos) note(signature, one.name, one.metadata);
}

void Sources::note(const GraphSignature& signature, const std::string& name,
                   const Properties& metadata) {
  std::vector<std::string> sources = folded_from(metadata);
  std::erase_if(sources, [&](const auto& source) { return signature.place(source) < 0; });
  folded_.insert(sources.begin(), sources.end());
  std::vector<std::string> parameters = sources;
  std::erase_if(parameters, [&](const auto& source) { return !signature.is_parameter(source); });
  if (!parameters.empty()) sources = std::move(parameters);
  if (sources.size() == 1) sources_.emplace(name, std::move(sources[0]));
}

const std::string& Sources::of(std::string_view initializer) const {
  static const std::string none;
  const auto found = sources_.find(std::string(initializer));
  return found == sources_.end() ? none : found->second;
}

}  // namespace ondine::graph
