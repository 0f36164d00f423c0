#include "graph/contract/catalogue.h"

#include <algorithm>
#include <tuple>

#include "graph/contract/catalogue_trace.h"

namespace ondine::graph {
namespace {

bool before(const OpDef& a, std::string_view domain, std::string_view name) {
  return std::tie(a.domain, a.name) < std::tie(domain, name);
}

}  // namespace

Catalogue::Catalogue(std::span<const OpDef* const> operators)
    : operators_(operators.begin(), operators.end()) {
  std::sort(operators_.begin(), operators_.end(),
            [](const OpDef* a, const OpDef* b) { return before(*a, b->domain, b->name); });
}

const OpDef* Catalogue::find(std::string_view domain, std::string_view name) const {
  const auto found =
      std::lower_bound(operators_.begin(), operators_.end(), name,
                       [&](const OpDef* op, std::string_view n) { return before(*op, domain, n); });
  if (found == operators_.end() || (*found)->domain != domain || (*found)->name != name) {
    return nullptr;
  }
  CatalogueTrace::note(*found);
  return *found;
}

}  // namespace ondine::graph
