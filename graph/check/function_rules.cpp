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
    for (const auto& value : function_.value_infos) check_declared(value, "value", false, site_);
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
      if (!attribute.ref.empty()) {
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
  for (std::size_t i = 0; i < context.functions.size(); ++i) {
    auto& parameters = context.parameters.emplace_back();
    for (const auto& name : context.functions[i].attributes) {
      parameters.emplace(name, AttributeKind::undefined);
    }
    for (const auto& each : context.functions[i].defaults) parameters.emplace(each.name, each.kind);
  }
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
  const auto& parameters = site.context.parameters[index];
  for (const auto& attribute : node.attributes) {
    const auto found = parameters.find(attribute.name);
    if (found == parameters.end()) {
      if (attribute.name.starts_with("__")) continue;
      site.reject(node, "has attribute ", quoted(attribute.name), ", which ", describe(function),
                  " does not have");
    } else if (found->second != AttributeKind::undefined && found->second != attribute.kind) {
      site.reject(node, "has attribute ", quoted(attribute.name), " of type ",
                  to_string(attribute.kind), ", ", describe(function), " needs ",
                  to_string(found->second));
    }
  }
}

}  // namespace ondine::graph
