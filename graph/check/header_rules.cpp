// The model's header: IR version and operator sets.
#include <algorithm>

#include "graph/check/rules.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t oldest_ir = 3;
constexpr std::int64_t newest_ir = 14;
constexpr std::int64_t training_ir = 7;

void check_imports(const std::vector<OpsetImport>& imports, const std::string& owner,
                   Findings& findings) {
  for (const auto& import : imports) {
    const auto domain = canonical_domain(import.domain);
    const auto name = quoted(std::string(spelled_domain(domain)));
    const std::int64_t newest = newest_version(domain);
    if (import.version < 1 && newest > 0) {
      findings.add(ErrorCode::invalid_model, owner, " imports version ", import.version,
                   " of operator set ", name);
    }
    if (newest > 0 && import.version > newest) {
      findings.add(ErrorCode::unsupported, owner, " imports version ", import.version,
                   " of operator set ", name, ", the newest supported is version ", newest);
    }
  }
}

// A model may import several versions of a domain, of which the highest counts. A function may rely
// on one only.
void check_single_versions(const FunctionDef& function, Findings& findings) {
  std::map<std::string_view, std::int64_t> versions;
  for (const auto& import : function.opsets) {
    const auto [entry, fresh] = versions.emplace(canonical_domain(import.domain), import.version);
    if (fresh || entry->second == import.version) continue;
    findings.add(ErrorCode::invalid_model, describe(function), " imports versions ", entry->second,
                 " and ", import.version, " of operator set ",
                 quoted(std::string(spelled_domain(entry->first))), ", only one is allowed");
  }
}

}  // namespace

void check_ir_version(std::int64_t version, Findings& findings) {
  if (version >= oldest_ir && version <= newest_ir) return;
  findings.add(version < 1 ? ErrorCode::invalid_model : ErrorCode::unsupported, "ir_version is ",
               version, ", supported versions are ", oldest_ir, " to ", newest_ir);
}

void check_function_imports(const std::vector<FunctionDef>& functions, Findings& findings) {
  for (const auto& function : functions) {
    check_imports(function.opsets, describe(function), findings);
    check_single_versions(function, findings);
  }
}

void check_header(CheckContext& context) {
  const ModelDef& model = context.model;
  check_ir_version(model.ir_version, context.findings);
  if (model.opsets.empty()) {
    context.findings.add(ErrorCode::invalid_model, "the model imports no operator set");
  }
  check_imports(model.opsets, "the model", context.findings);
  check_device_configurations(context);
  check_function_imports(model.functions, context.findings);
  if (!model.training.empty() && model.ir_version < training_ir) {
    context.findings.add(ErrorCode::invalid_model, "training_info needs ir_version ", training_ir,
                         ", the model has ", model.ir_version);
  }
}

}  // namespace ondine::graph
