#include "graph/check/repeated_entries.h"

#include <map>
#include <string_view>

namespace ondine::graph {
namespace {

bool same(const ValueDef& a, const ValueDef& b) { return same_type(a.type, b.type); }
bool same(const InitializerDef& a, const InitializerDef& b) { return a.value.identical(b.value); }

template <class Entry>
bool remove_repeated(std::vector<Entry>& entries, std::string_view what, const GraphDef& graph,
                     Findings& findings) {
  std::map<std::string_view, const Entry*> first;
  std::vector<bool> repeats(entries.size());
  bool any = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto [known, fresh] = first.emplace(entries[i].name, &entries[i]);
    if (fresh || entries[i].name.empty() || !same(*known->second, entries[i])) continue;
    findings.warn(ErrorCode::invalid_model, what, " ", quoted(entries[i].name),
                  " is defined twice in the same way, in graph ", quoted(graph.name));
    repeats[i] = any = true;
  }
  if (!any) return false;
  std::vector<Entry> kept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!repeats[i]) kept.push_back(std::move(entries[i]));
  }
  entries = std::move(kept);
  return true;
}

bool remove_repeated(GraphDef& graph, Findings& findings) {
  const bool inputs = remove_repeated(graph.inputs, "graph input", graph, findings);
  return remove_repeated(graph.initializers, "initializer", graph, findings) || inputs;
}

}  // namespace

bool same_type(const TypeDef& a, const TypeDef& b) {
  const bool alike = a.kind == b.kind && a.dtype == b.dtype && a.dims == b.dims &&
                     *a.opaque == *b.opaque && !a.element == !b.element;
  return alike && (!a.element || same_type(*a.element, *b.element));
}

bool remove_repeated_entries(ModelDef& model, Findings& findings) {
  if (findings.rigor() == Rigor::strict) return false;
  bool any = remove_repeated(model.graph, findings);
  for (TrainingInfoDef& info : model.training) {
    if (info.initialization) any = remove_repeated(*info.initialization, findings) || any;
    if (info.algorithm) any = remove_repeated(*info.algorithm, findings) || any;
  }
  return any;
}

}  // namespace ondine::graph
