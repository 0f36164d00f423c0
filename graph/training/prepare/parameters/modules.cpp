#include "graph/training/prepare/parameters/modules.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/training/prepare/parameters/metadata.h"
#include "graph/training/prepare/parameters/origin.h"

namespace ondine::graph {
namespace {

constexpr std::string_view scopes_key = "pkg.torch.onnx.name_scopes";

// The last but one of "['', 'layers.0', 'layers.0.fc', 'linear']".
std::string module_of_scopes(std::string_view scopes) {
  const std::vector<std::string_view> names = listed_names(scopes);
  return names.size() < 2 ? std::string() : std::string(names[names.size() - 2]);
}

// "layers.0.fc" of "/layers/layers.0/fc/MatMul".
std::string module_of_name(std::string_view name) {
  if (!name.starts_with('/')) return {};
  std::vector<std::string> parts;
  while (!name.empty()) {
    name.remove_prefix(1);
    const std::size_t end = std::min(name.find('/'), name.size());
    if (end == name.size()) break;  // the operator
    std::string part(name.substr(0, end));
    if (!parts.empty() && part.starts_with(parts.back() + ".")) parts.pop_back();
    parts.push_back(std::move(part));
    name.remove_prefix(end);
  }
  std::string module;
  for (const std::string& part : parts) module += (module.empty() ? "" : ".") + part;
  return module;
}

}  // namespace

std::string module_of(const NodeDef& node) {
  for (const auto& [key, text] : node.metadata) {
    if (key == scopes_key) return module_of_scopes(text);
  }
  return module_of_name(node.name);
}

Modules::Modules(const GraphDef& graph) {
  for (const InitializerDef& one : graph.initializers) {
    owners_.insert(std::string(owner_of(one.name)));
  }
  for (const NodeDef& node : graph.nodes) {
    names_.insert(module_of(node));
    // The exporter writes parameters of equal elements so.
    if (node.op == "Identity") owners_.insert(std::string(owner_of(node.outputs.at(0))));
  }
}

std::string Modules::of(const NodeDef& node) const {
  std::string module = module_of(node);
  const std::size_t end = module.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == module.size() || module[end] != '_') return module;
  std::string first = module.substr(0, end);
  return names_.contains(first) && !owners_.contains(module) ? first : module;
}

bool has_scopes(const NodeDef& node) {
  return std::any_of(node.metadata.begin(), node.metadata.end(),
                     [](const auto& one) { return one.first == scopes_key; });
}

}  // namespace ondine::graph
