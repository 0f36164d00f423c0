#include "graph/check/location.h"

#include "core/message.h"
#include "graph/contract/signature.h"

namespace ondine::graph {

std::string describe(const NodeDef& node) {
  const std::string* label = &node.name;
  for (const auto& output : node.outputs) {
    if (label->empty()) label = &output;
  }
  return cat("node ", quoted(*label), " (", node.op.empty() ? "no operator" : quoted(node.op), ")");
}

std::string describe(const FunctionDef& function) {
  std::string out = cat("function ", quoted(function.name));
  if (!function.domain.empty()) out += cat(" of ", quoted(function.domain));
  if (!function.overload.empty()) out += cat(" overload ", quoted(function.overload));
  return out;
}

std::string within(const Location& location) {
  std::string out;
  for (const Location* at = &location; at != nullptr; at = at->outer) {
    if (!at->text.empty()) out += ", in " + at->text;
  }
  return out;
}

}  // namespace ondine::graph
