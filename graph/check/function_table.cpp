#include "graph/check/function_table.h"

#include "graph/contract/signature.h"

namespace ondine::graph {

FunctionTable::FunctionTable(const std::vector<FunctionDef>& functions) : functions_(&functions) {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const auto& function = functions[i];
    by_name_.emplace(Key{canonical_domain(function.domain), function.name, function.overload}, i);
  }
}

std::optional<std::size_t> FunctionTable::find(const NodeDef& node) const {
  const auto found = by_name_.find(Key{canonical_domain(node.domain), node.op, *node.overload});
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace ondine::graph
