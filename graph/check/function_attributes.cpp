#include "graph/check/function_attributes.h"

#include <algorithm>
#include <utility>

#include "graph/contract/added_versions.h"
#include "graph/contract/opsets.h"
#include "graph/contract/signature.h"
#include "graph/ir/walk.h"

namespace ondine::graph {
namespace {

const Signature* signature_of(const NodeDef& node, const Opsets& opsets) {
  const auto version = opsets.version(node.domain);
  if (!version) return nullptr;
  return find_signature(node.domain, node.op, defining_version(node.domain, node.op, *version));
}

bool needs(const Signature* signature, const std::string& name) {
  const AttributeSpec* spec = signature == nullptr ? nullptr : signature->attribute(name);
  return spec != nullptr && spec->required;
}

}  // namespace

FunctionAttributes::FunctionAttributes(const FunctionTable& functions)
    : entries_(functions.size()), required_(functions.size()) {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (const auto& name : functions[i].attributes) entries_[i].try_emplace(name);
    for (const auto& each : functions[i].defaults) {
      entries_[i][each.name].default_kind = each.kind;
    }
  }
  PassedOn passed_on;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Opsets opsets(functions[i].opsets);
    for_each_node(functions[i].nodes, [&](const NodeDef& node) {
      const auto callee = functions.find(node);
      read(node, i, callee, callee ? nullptr : signature_of(node, opsets), passed_on);
    });
  }
  std::vector<const Entry*> open;
  for (const auto& entries : entries_) {
    for (const auto& [name, entry] : entries) {
      if (entry.required) open.push_back(&entry);
    }
  }
  while (!open.empty()) {
    const auto [first, last] = passed_on.equal_range(open.back());
    open.pop_back();
    for (auto each = first; each != last; ++each) {
      if (std::exchange(each->second->required, true)) continue;
      if (each->second->default_kind == AttributeKind::undefined) open.push_back(each->second);
    }
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (const auto& name : functions[i].attributes) {
      const Entry& entry = entries_[i].at(name);
      if (entry.required && entry.default_kind == AttributeKind::undefined) {
        required_[i].push_back(name);
      }
    }
  }
}

void FunctionAttributes::read(const NodeDef& node, std::size_t function,
                              std::optional<std::size_t> callee, const Signature* signature,
                              PassedOn& passed_on) {
  for (const Attribute& attribute : node.attributes) {
    Entry* passed = attribute.ref->empty() ? nullptr : entry(function, *attribute.ref);
    if (passed == nullptr) continue;
    if (std::find(passed->kinds.begin(), passed->kinds.end(), attribute.kind) ==
        passed->kinds.end()) {
      passed->kinds.push_back(attribute.kind);
    }
    if (needs(signature, attribute.name)) passed->required = true;
    const Entry* inner = callee ? entry(*callee, attribute.name) : nullptr;
    if (inner != nullptr && inner->default_kind == AttributeKind::undefined) {
      passed_on.emplace(inner, passed);
    }
  }
}

FunctionAttributes::Entry* FunctionAttributes::entry(std::size_t function, std::string_view name) {
  const auto found = entries_[function].find(name);
  return found == entries_[function].end() ? nullptr : &found->second;
}

const FunctionAttributes::Entry* FunctionAttributes::find(std::size_t function,
                                                          std::string_view name) const {
  const auto found = entries_[function].find(name);
  return found == entries_[function].end() ? nullptr : &found->second;
}

}  // namespace ondine::graph
