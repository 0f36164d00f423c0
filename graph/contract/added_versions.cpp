#include "graph/contract/added_versions.h"

#include <algorithm>
#include <iterator>

#include "graph/contract/signature.h"

namespace ondine::graph {
namespace {

struct Added {
  std::string_view name;
  std::int64_t defined_by;  // 0: what the standard defines later differs
};

constexpr Added added[]{
    {"LayerNormalization", 17}, {"MeanVarianceNormalization", 0}, {"ThresholdedRelu", 10}};

const Added* find_added(std::string_view domain, std::string_view name,
                        std::int64_t version) noexcept {
  if (!canonical_domain(domain).empty()) return nullptr;
  const auto* found = std::find_if(std::begin(added), std::end(added),
                                   [&](const Added& one) { return one.name == name; });
  if (found == std::end(added) || find_signature("", name, version) != nullptr) return nullptr;
  return found;
}

}  // namespace

bool is_added(std::string_view domain, std::string_view name, std::int64_t version) noexcept {
  return find_added(domain, name, version) != nullptr;
}

std::int64_t defining_version(std::string_view domain, std::string_view name,
                              std::int64_t version) noexcept {
  const Added* found = find_added(domain, name, version);
  return found == nullptr || found->defined_by == 0 ? version : found->defined_by;
}

}  // namespace ondine::graph
