// Attributes: names, references and agreement with the signature. Their values were checked when
// the model was read.
#include <algorithm>

#include "graph/check/rules.h"

namespace ondine::graph {
namespace {

void check_reference(const NodeDef& node, const Attribute& attribute, const Site& site) {
  const auto name = quoted(attribute.name);
  const auto function = site.environment.function_index;
  if (!function) {
    return site.reject(node, "has attribute ", name, " that refers to ", quoted(*attribute.ref),
                       ", an attribute of a function, outside of any function");
  }
  const auto* entry = site.context.function_attributes.find(*function, *attribute.ref);
  if (entry == nullptr) {
    site.reject(node, "has attribute ", name, " that refers to ", quoted(*attribute.ref),
                ", which its function does not have");
  } else if (entry->default_kind != AttributeKind::undefined &&
             entry->default_kind != attribute.kind) {
    site.reject(node, "has attribute ", name, " of type ", to_string(attribute.kind),
                ", it refers to ", quoted(*attribute.ref), " of type ",
                to_string(entry->default_kind));
  }
}

}  // namespace

void check_attributes(const NodeDef& node, const Site& site) {
  std::set<std::string_view> seen;
  for (const auto& attribute : node.attributes) {
    if (attribute.name.empty()) {
      site.reject(node, "has an attribute without a name");
    } else if (!seen.insert(attribute.name).second) {
      site.reject(node, "has duplicate attribute ", quoted(attribute.name));
    }
    if (!attribute.ref->empty()) check_reference(node, attribute, site);
  }
}

void check_attributes(const NodeDef& node, const Signature& signature, const Site& site) {
  for (const auto& attribute : node.attributes) {
    const AttributeSpec* spec = signature.attribute(attribute.name);
    if (spec == nullptr) {
      // Names like this are the tools' own by convention.
      if (attribute.name.starts_with("__")) continue;
      site.reject(node, "has attribute ", quoted(attribute.name),
                  ", which the operator does not have");
    } else if (attribute.kind != spec->kind) {
      site.reject(node, "has attribute ", quoted(attribute.name), " of type ",
                  to_string(attribute.kind), ", the operator needs ", to_string(spec->kind));
    }
  }
  for (const auto& spec : signature.attributes()) {
    if (spec.required && find(node.attributes, spec.name) == nullptr) {
      site.reject(node, "lacks attribute '", spec.name, "', which the operator needs");
    }
  }
}

}  // namespace ondine::graph
