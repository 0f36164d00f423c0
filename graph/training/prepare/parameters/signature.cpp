#include "graph/training/prepare/parameters/signature.h"

#include <algorithm>

#include "graph/training/prepare/parameters/metadata.h"

namespace ondine::graph {
namespace {

constexpr std::string_view signature_key = "pkg.torch.export.ExportedProgram.graph_signature";

// The name after `kind` in a line of the list; "" if it is of another kind.
std::string_view target(std::string_view line, std::string_view kind) {
  const std::size_t start = line.find(kind);
  if (start == std::string_view::npos) return {};
  line.remove_prefix(start + kind.size());
  return line.substr(0, line.find('\''));
}

}  // namespace

GraphSignature::GraphSignature(const GraphDef& graph) {
  const auto add = [&](std::string_view name, bool is_parameter) {
    if (name.empty() || places_.contains(name)) return;
    places_.emplace(name, static_cast<std::ptrdiff_t>(entries_.size()));
    entries_.push_back({std::string(name), is_parameter});
    has_parameters_ = has_parameters_ || is_parameter;
  };
  std::string_view text = property(graph.metadata, signature_key);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    add(target(line, ": PARAMETER target='"), true);
    for (const std::string_view kind : {": BUFFER target='", ": CONSTANT_TENSOR target='"}) {
      add(target(line, kind), false);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::ptrdiff_t GraphSignature::place(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? -1 : found->second;
}

bool GraphSignature::is_parameter(std::string_view name) const {
  const std::ptrdiff_t at = place(name);
  return at >= 0 && entries_[static_cast<std::size_t>(at)].is_parameter;
}

}  // namespace ondine::graph
