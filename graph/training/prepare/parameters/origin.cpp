#include "graph/training/prepare/parameters/origin.h"

#include <algorithm>
#include <set>
#include <vector>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/constants.h"
#include "graph/training/prepare/parameters/metadata.h"
#include "graph/training/prepare/parameters/signature.h"

namespace ondine::graph {
namespace {

// "arange_12": "arange".
std::string_view without_number(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  return end != std::string_view::npos && name[end] == '_' ? name.substr(0, end) : name;
}

bool makes_constants(std::string_view name) {
  return one_of(without_number(name), {"arange", "eye", "full", "full_like", "linspace", "ones",
                                       "ones_like", "scalar_tensor", "zeros", "zeros_like"});
}

// Parameters of modules have a dot in their names. One of the outermost module need not have one,
// so that a list with neither a dot nor something that makes constants says nothing.
bool folded_from_constants(std::string_view folded, std::string_view text) {
  const std::vector<std::string_view> names = listed_names(text);
  const auto any = [&](auto&& holds) { return std::any_of(names.begin(), names.end(), holds); };
  if (names.empty() || any([](auto name) { return name.find('.') != std::string_view::npos; })) {
    return false;
  }
  return makes_constants(folded) || any(makes_constants) ||
         !any([](std::string_view name) { return without_number(name) != "val"; });
}

// From statistics and from parameters of the same modules alone. In layers that train, the operator
// for normalization reads them, or a rewriting rule merges them into the weight of another module.
bool folded_from_statistics(std::string_view text) {
  std::set<std::string_view> modules;
  const std::vector<std::string_view> names = listed_names(text);
  for (const std::string_view name : names) {
    if (is_statistic(name)) modules.insert(owner_of(name));
  }
  return !modules.empty() && std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return owner_of(name).empty() || modules.contains(owner_of(name));
  });
}

bool folded_from_parameters(const GraphSignature& signature, std::string_view text) {
  const std::vector<std::string_view> names = listed_names(text);
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return signature.is_parameter(name) || is_parameter_name(name, {});
  });
}

// As the exporter's optimizer folds Exp of a logit scale.
bool folded_from_parameter(const GraphSignature& signature, std::string_view text) {
  return listed_names(text).size() == 1 && folded_from_parameters(signature, text);
}

// Where the list of parameters is known. Names with a dot that it does not have say nothing.
bool folded_from_others(const GraphSignature& signature, std::string_view text) {
  const std::vector<std::string_view> names = listed_names(text);
  return !names.empty() && signature.has_parameters() &&
         std::none_of(names.begin(), names.end(), [&](std::string_view name) {
           return signature.is_parameter(name) ||
                  (signature.place(name) < 0 && name.find('.') != std::string_view::npos);
         });
}

}  // namespace

Origins origins_of(const GraphDef& graph) {
  Origins origins;
  const GraphSignature signature(graph);
  const auto read = [&](const std::string& name, const Properties& properties) {
    const std::string_view kind = property(properties, kind_key);
    const std::string_view trained = property(properties, "requires_grad");
    const std::string_view folded = property(properties, folded_key);
    if (one_of(kind, {"BUFFER", "CONSTANT_TENSOR"}) || one_of(trained, {"False", "false", "0"}) ||
        folded_from_constants(name, folded) || folded_from_statistics(folded) ||
        folded_from_others(signature, folded)) {
      origins.constants.insert(name);
    } else if (kind == "PARAMETER" || one_of(trained, {"True", "true", "1"}) ||
               folded_from_parameter(signature, folded)) {
      origins.parameters.insert(name);
    }
    if (folded_from_parameters(signature, folded)) origins.derived.insert(name);
  };
  for (const ValueDef& value : graph.value_infos) read(value.name, value.metadata);
  for (const InitializerDef& one : graph.initializers) read(one.name, one.metadata);
  return origins;
}

std::vector<std::string> folded_from(const Properties& metadata) {
  const std::vector<std::string_view> names = listed_names(property(metadata, folded_key));
  return {names.begin(), names.end()};
}

bool is_statistic(std::string_view name) noexcept {
  return name.ends_with(".running_mean") || name.ends_with(".running_var");
}

std::string_view owner_of(std::string_view name) noexcept {
  const std::size_t end = name.rfind('.');
  return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
}

bool is_generated_name(std::string_view name) noexcept {
  return name.starts_with("onnx::") || name.starts_with("val_") || name.starts_with('/') ||
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_number_name(std::string_view name) noexcept {
  if (is_generated_name(name) || name.starts_with('_')) return true;
  const std::string_view last = name.substr(name.find_last_of("./") + 1);
  return last.starts_with("const") || last.starts_with("Const") ||
         last.starts_with("scalar_tensor") || last.starts_with("lifted_tensor") ||
         last.ends_with("cst") || one_of(last, {"x:0", "y:0"});
}

}  // namespace ondine::graph
