#include "graph/contract/catalogue_trace.h"

namespace ondine::graph {
namespace {

thread_local CatalogueTrace* innermost = nullptr;

}  // namespace

CatalogueTrace::CatalogueTrace() noexcept : outer_(innermost) { innermost = this; }

CatalogueTrace::~CatalogueTrace() { innermost = outer_; }

void CatalogueTrace::note(const OpDef* op) {
  if (innermost != nullptr) innermost->found_.insert(op);
}

}  // namespace ondine::graph
