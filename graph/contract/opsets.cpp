#include "graph/contract/opsets.h"

#include <algorithm>

#include "graph/contract/signature.h"

namespace ondine::graph {

Opsets::Opsets(const std::vector<OpsetImport>& imports) {
  for (const auto& import : imports) {
    const auto [entry, fresh] = versions_.emplace(canonical_domain(import.domain), import.version);
    entry->second = std::max(entry->second, import.version);
  }
}

std::optional<std::int64_t> Opsets::version(std::string_view domain) const {
  const auto found = versions_.find(canonical_domain(domain));
  if (found == versions_.end()) return std::nullopt;
  return found->second;
}

}  // namespace ondine::graph
