#include "graph/check/missing_operators.h"

#include <limits>

#include "graph/contract/signature.h"

namespace ondine::graph {
namespace {

// Why the standard does not define the operator in this version; empty when it does.
std::string reason(std::string_view domain, std::string_view name, std::int64_t version) {
  if (domain == "com.microsoft") return ", not among the supported ones of this operator set";
  if (newest_version(domain) == 0) return ", an unknown operator set";
  if (find_signature(domain, name, version) != nullptr) return {};
  for (const auto& row : all_signatures()) {
    if (row.domain() == domain && row.name == name) {
      return cat(", which defines it from version ", int{row.since_version});
    }
  }
  return ", which does not define it";
}

}  // namespace

void MissingOperators::add(std::optional<std::size_t> function, std::string_view domain,
                           std::string_view name, std::int64_t version, const std::string& user) {
  const std::int64_t owner = function ? static_cast<std::int64_t>(*function) : -1;
  users_.emplace(std::pair(owner, Operator(canonical_domain(domain), name, version)), user);
}

void MissingOperators::report(const std::vector<bool>& called, Findings& findings) const {
  constexpr std::size_t max_named = 100;
  std::map<Operator, std::string> wanted;
  for (const auto& [key, user] : users_) {
    if (key.first < 0 || called[static_cast<std::size_t>(key.first)]) {
      wanted.emplace(key.second, user);
    }
  }
  if (wanted.empty()) return;
  std::string list;
  std::size_t count = 0;
  for (const auto& [op, user] : wanted) {
    if (++count > max_named) break;
    const auto& [domain, name, version] = op;
    list += cat(count == 1 ? " " : "; ", quoted(name), " of ",
                quoted(std::string(spelled_domain(domain))), " version ", version,
                reason(domain, name, version), " (for ", user, ")");
  }
  if (wanted.size() > max_named) list += cat("; and ", wanted.size() - max_named, " more");
  findings.add(ErrorCode::unsupported,
               wanted.size() == 1 ? "missing operator:" : "missing operators:", list);
}

}  // namespace ondine::graph
