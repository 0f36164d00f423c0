#include <algorithm>

#include <ondine/operators.h>

#include "core/out_of_memory.h"
#include "graph/contract/catalogue_trace.h"
#include "graph/contract/op_def.h"
#include "graph/contract/signature.h"
#include "kernels/catalogue.h"

namespace ondine {
namespace {

bool is_contrib(const graph::OpDef& op) {
  const std::int64_t newest = graph::newest_version(op.domain);
  return op.domain != graph::ondine_domain &&
         graph::find_signature(op.domain, op.name, newest) == nullptr;
}

}  // namespace

LoadedModel load_with_operators(const std::filesystem::path& model, const LoadOptions& options) {
  return guard_memory("list the operators", [&] {
    // Loading looks up every operator that the model will run.
    const graph::CatalogueTrace trace;
    LoadedModel loaded{Model::load(model, options), {}};
    std::vector<OperatorUse>& uses = loaded.operators;
    for (const graph::OpDef* op : trace.found()) {
      const std::string_view identifier = kernels::identifier(*op);
      if (identifier.empty()) continue;  // Gradient, part of every build
      uses.push_back({std::string(identifier), std::string(op->domain), std::string(op->name),
                      is_contrib(*op)});
    }
    std::sort(uses.begin(), uses.end(),
              [](const auto& a, const auto& b) { return a.identifier < b.identifier; });
    return loaded;
  });
}

std::vector<OperatorUse> operators_of(const std::filesystem::path& model,
                                      const LoadOptions& options) {
  return load_with_operators(model, options).operators;
}

}  // namespace ondine
