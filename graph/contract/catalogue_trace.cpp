#include "graph/contract/catalogue_trace.h"

#include <utility>

#include "graph/ir/graph.h"

namespace ondine::graph {
namespace {

thread_local CatalogueTrace* innermost = nullptr;

}  // namespace

CatalogueTrace::CatalogueTrace() noexcept : outer_(innermost) { innermost = this; }

CatalogueTrace::~CatalogueTrace() { innermost = outer_; }

bool CatalogueTrace::is_active() noexcept { return innermost != nullptr; }

void CatalogueTrace::note(const OpDef* op) {
  if (innermost != nullptr) innermost->found_.insert(op);
}

void CatalogueTrace::note(const Graph& graph) {
  if (innermost == nullptr) return;
  for (const Node& node : graph.nodes) {
    note(node.op);
    for (const Subgraph& subgraph : node.subgraphs) note(*subgraph.graph);
  }
}

CatalogueTrace::Pause::Pause() noexcept : paused_(std::exchange(innermost, nullptr)) {}

CatalogueTrace::Pause::~Pause() { innermost = paused_; }

}  // namespace ondine::graph
