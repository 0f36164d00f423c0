// Model-local functions: signatures, bodies and calls.
#include <algorithm>

#include "graph/check/rules.h"

namespace ondine::graph {
namespace {

class FunctionCheck {
 public:
  FunctionCheck(const FunctionDef& function, const Site& site) : function_(function), site_(site) {}

  void run() {
    if (function_.name.empty()) site_.add(ErrorCode::invalid_model, "a function has no name");
    check_attribute_names();
    Scope scope;
    std::set<std::string_view> seen;
    for (const auto& input : function_.inputs) {
      if (input.empty()) reject("has an input without a name");
      if (!seen.insert(input).second) reject("has duplicate input ", quoted(input));
      scope.define(input).formal = true;
    }
    check_nodes(function_.nodes, scope, site_);
    seen.clear();
    for (const auto& output : function_.outputs) {
      if (output.empty()) reject("has an output without a name");
      if (!seen.insert(output).second) reject("has duplicate output ", quoted(output));
      if (!output.empty() && scope.find(output) == nullptr) {
        reject("has output ", quoted(output), ", which is not defined");
      }
    }
    check_value_infos(function_, site_);
  }

 private:
  template <class... Parts>
  void reject(const Parts&... parts) const {
    site_.context.findings.add(ErrorCode::invalid_model, describe(function_), " ", parts...);
  }

  void check_attribute_names() const {
    std::set<std::string_view> seen;
    const auto add = [&](const std::string& name) {
      if (name.empty()) reject("has an attribute without a name");
      if (!seen.insert(name).second) reject("has duplicate attribute ", quoted(name));
    };
    for (const auto& name : function_.attributes) add(name);
    for (const auto& attribute : function_.defaults) {
      add(attribute.name);
      if (!attribute.ref->empty()) {
        reject("has a default of attribute ", quoted(attribute.name),
               " that is itself a reference");
      }
    }
  }

  const FunctionDef& function_;
  const Site& site_;
};

}  // namespace

void check_functions(CheckContext& context) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < context.functions.size(); ++i) {
    const FunctionDef& function = context.functions[i];
    const auto domain = canonical_domain(function.domain);
    if (!seen.emplace(domain, function.name, function.overload).second) {
      context.findings.add(ErrorCode::invalid_model, describe(function), " is defined twice");
    }
    Environment environment;
    environment.opsets = Opsets(function.opsets);
    environment.function = &function;
    environment.function_index = i;
    const Location location{describe(function)};
    FunctionCheck(function, {context, environment, location}).run();
  }
}

namespace {

// The type that the function needs in place of `kind`; undefined when it takes this one.
AttributeKind needed_instead(const FunctionAttributes::Entry& entry, AttributeKind kind) {
  const AttributeKind by_default = entry.default_kind;
  if (by_default != AttributeKind::undefined && by_default != kind) return by_default;
  for (const AttributeKind used : entry.kinds) {
    if (used != kind) return used;
  }
  return AttributeKind::undefined;
}

void check_call_attributes(const NodeDef& node, std::size_t index, const Site& site) {
  const FunctionDef& function = site.context.functions[index];
  const FunctionAttributes& attributes = site.context.function_attributes;
  std::set<std::string_view> given;
  for (const auto& attribute : node.attributes) {
    given.insert(attribute.name);
    const auto* entry = attributes.find(index, attribute.name);
    if (entry == nullptr) {
      if (attribute.name.starts_with("__")) continue;
      site.reject(node, "has attribute ", quoted(attribute.name), ", which ", describe(function),
                  " does not have");
      continue;
    }
    const AttributeKind needed = needed_instead(*entry, attribute.kind);
    if (needed == AttributeKind::undefined) continue;
    site.reject(node, "has attribute ", quoted(attribute.name), " of type ",
                to_string(attribute.kind), ", ", describe(function), " needs ", to_string(needed));
  }
  // One that is missing is enough to say, so that the work is that of the attributes given.
  for (const auto name : attributes.required(index)) {
    if (given.contains(name)) continue;
    site.reject(node, "lacks attribute ", quoted(std::string(name)), ", which ", describe(function),
                " needs");
    return;
  }
}

}  // namespace

void check_call(const NodeDef& node, std::size_t index, const Site& site) {
  const FunctionDef& function = site.context.functions[index];
  if (node.inputs.size() > function.inputs.size()) {
    site.reject(node, "has ", node.inputs.size(), " inputs, ", describe(function), " has ",
                function.inputs.size());
  }
  if (node.outputs.size() > function.outputs.size()) {
    site.reject(node, "has ", node.outputs.size(), " outputs, ", describe(function), " has ",
                function.outputs.size());
  }
  check_call_attributes(node, index, site);
}

}  // namespace ondine::graph
