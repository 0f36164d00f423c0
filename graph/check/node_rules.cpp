// Checks a node against the signature of its operator.
#include "graph/check/rules.h"

#include "graph/contract/added_versions.h"

namespace ondine::graph {
namespace {

struct Bounds {
  std::size_t min = 0;
  std::optional<std::size_t> max;  // nullopt: any number
};

Bounds bounds(std::span<const Parameter> parameters) {
  Bounds out{0, parameters.size()};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    if (parameter.option == Option::single) out.min = i + 1;
    if (parameter.option != Option::variadic) continue;
    if (parameter.min_arity > 0) out.min = i + parameter.min_arity;
    out.max.reset();
  }
  return out;
}

// `what` is "input" or "output".
void check_arity(const NodeDef& node, std::string_view what, const std::vector<std::string>& names,
                 std::span<const Parameter> parameters, const Site& site) {
  const Bounds allowed = bounds(parameters);
  std::size_t given = names.size();
  while (given > 0 && names[given - 1].empty()) --given;
  if (allowed.max && given > *allowed.max) {
    site.reject(node, "has ", given, " ", what, "s, the operator has at most ", *allowed.max);
  }
  if (names.size() < allowed.min) {
    site.reject(node, "has ", names.size(), " ", what, "s, the operator needs at least ",
                allowed.min);
  }
  for (std::size_t i = 0; i < names.size() && !parameters.empty(); ++i) {
    const auto& parameter = parameters[std::min(i, parameters.size() - 1)];
    const bool needed = parameter.option == Option::single ||
                        (parameter.option == Option::variadic && what == "input");
    if (names[i].empty() && needed && (i < parameters.size() || !allowed.max)) {
      site.reject(node, "has an empty name for ", what, " ", i, " ('", parameter.name,
                  "'), which the operator needs");
    }
  }
}

// The opset version that defines the node; nullopt when its domain is not imported.
std::optional<std::int64_t> imported_version(const NodeDef& node, const Site& site) {
  const auto version = site.environment.opsets.version(node.domain);
  const auto domain = canonical_domain(node.domain);
  if (!version && site.environment.not_imported.emplace(domain).second) {
    site.reject(node, "is of operator set ", quoted(std::string(spelled_domain(domain))),
                ", which ", site.environment.function ? "its function" : "the model",
                " does not import");
  }
  return version;
}

// In any version. Others that the catalogue has come from elsewhere, even into the standard's
// domains.
bool standard_has(std::string_view domain, std::string_view name) {
  return find_signature(domain, name, newest_version(domain)) != nullptr;
}

void check_operator(const NodeDef& node, std::int64_t version, const Scope& scope,
                    const Site& site) {
  const auto domain = canonical_domain(node.domain);
  const bool available = site.context.catalogue.find(domain, node.op) != nullptr;
  const Signature* signature = find_signature(domain, node.op, version);
  if (signature != nullptr && signature->deprecated()) {
    site.reject(node, "uses an operator that version ", int{signature->since_version}, " of ",
                spelled_domain(domain), " removed");
    return;
  }
  // Internal operators trust the types that derivatives and passes give them.
  if (available && domain == ondine_domain) {
    site.reject(node, "is of operator set ", quoted(std::string(domain)),
                ", which is internal to the library: a model cannot use it");
    return;
  }
  if (!available || (signature == nullptr && standard_has(domain, node.op) &&
                     !is_added(domain, node.op, version))) {
    site.context.missing.add(site.environment.function_index, domain, node.op, version,
                             describe(node) + within(site.location));
  }
  if (signature == nullptr) return;
  check_arity(node, "input", node.inputs, signature->inputs(), site);
  check_arity(node, "output", node.outputs, signature->outputs(), site);
  check_attributes(node, *signature, site);
  check_subgraphs(node, version, site);
  check_optimizer(node, site);
  check_gradient(node, scope, site);
}

}  // namespace

void check_node(const NodeDef& node, const Scope& scope, const Site& site) {
  if (node.op.empty()) return site.reject(node, "names no operator");
  if (node.outputs.empty()) site.reject(node, "has no output, a node has one or more");
  check_attributes(node, site);
  check_devices(node, site);
  const auto version = imported_version(node, site);
  if (const auto function = site.context.functions.find(node)) {
    check_call(node, *function, site);
  } else if (version) {
    check_operator(node, defining_version(canonical_domain(node.domain), node.op, *version), scope,
                   site);
  }
}

}  // namespace ondine::graph
