#include "ondine/print_set.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include <ondine/operator_set.h>
#include <ondine/printable.h>

namespace ondine::cli {
namespace {

using nlohmann::json;

std::string spelled(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

json to_json(const OperatorSetInfo& set) {
  json result{{"domain", spelled(set.domain)},
              {"version", set.version},
              {"ir_version", set.ir_version},
              {"ir_version_prerelease", set.ir_prerelease},
              {"ir_build_metadata", set.ir_build_metadata},
              {"doc", set.doc}};
  json operators = json::array();
  for (const OperatorDeclaration& one : set.operators) {
    operators.push_back({{"name", one.name},
                         {"since_version", one.since_version},
                         {"status", one.stable ? "STABLE" : "EXPERIMENTAL"},
                         {"doc", one.doc}});
  }
  result["operators"] = std::move(operators);
  json functions = json::array();
  for (const OperatorSetFunction& one : set.functions) {
    json imports = json::object();
    for (const auto& [domain, version] : one.imports) imports[spelled(domain)] = version;
    functions.push_back({{"name", one.name},
                         {"overload", one.overload},
                         {"inputs", one.inputs},
                         {"outputs", one.outputs},
                         {"attributes", one.attributes},
                         {"imports", std::move(imports)},
                         {"nodes", one.nodes},
                         {"doc", one.doc}});
  }
  result["functions"] = std::move(functions);
  return result;
}

// The first line of a documentation, indented.
void print_doc(const std::string& doc, const char* indent) {
  if (!doc.empty()) std::cout << indent << printable(doc.substr(0, doc.find('\n'))) << '\n';
}

void print(const OperatorSetInfo& set) {
  std::cout << "operator set " << printable(spelled(set.domain)) << " version " << set.version
            << ", IR version " << set.ir_version;
  if (!set.ir_prerelease.empty()) std::cout << '-' << printable(set.ir_prerelease);
  if (!set.ir_build_metadata.empty()) std::cout << '+' << printable(set.ir_build_metadata);
  std::cout << '\n';
  print_doc(set.doc, "  ");
  if (!set.operators.empty()) std::cout << "operators\n";
  for (const OperatorDeclaration& one : set.operators) {
    std::cout << "  " << printable(one.name) << "  since version " << one.since_version << ", "
              << (one.stable ? "stable" : "experimental") << '\n';
    print_doc(one.doc, "    ");
  }
  if (!set.functions.empty()) std::cout << "functions\n";
  for (const OperatorSetFunction& one : set.functions) {
    std::cout << "  " << printable(one.name + (one.overload.empty() ? "" : ":" + one.overload))
              << '(' << printable(joined(one.inputs)) << ") -> (" << printable(joined(one.outputs))
              << ')';
    if (!one.attributes.empty()) std::cout << " {" << printable(joined(one.attributes)) << '}';
    std::cout << '\n';
    print_doc(one.doc, "    ");
  }
}

}  // namespace

void print_operator_set(const std::string& file, bool as_json) {
  const OperatorSetInfo set = operator_set_info(file);
  if (as_json) {
    std::cout << to_json(set).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  } else {
    print(set);
  }
}

}  // namespace ondine::cli
