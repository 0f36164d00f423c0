#include "trainer/model/load_checked.h"

#include <algorithm>

#include "core/message.h"
#include "graph/check/repeated_entries.h"
#include "graph/check/structure.h"
#include "proto/import.h"
#include "trainer/model/assemble.h"
#include "trainer/model/operator_sets.h"

namespace ondine::trainer {
namespace {

ErrorCode code_of(const graph::Findings& findings) {
  try {
    findings.throw_if_any();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::unsupported;
}

void add_broken_rules(const graph::ModelDef& model, const Limits& limits,
                      const std::vector<std::string>& left_out, graph::Findings& findings) {
  graph::Findings rules(findings.rigor());
  check_structure(model, all_operators(), limits, rules);
  const ErrorCode code = code_of(rules);
  for (const std::string& text : rules.texts()) {
    const bool may_follow = std::ranges::any_of(left_out, [&](const std::string& name) {
      return text.find(quoted(name)) != std::string::npos;
    });
    if (!may_follow) findings.add(code, text);
  }
}

template <class Load>
CheckedModel load(const LoadOptions& options, const Load& load_model) {
  LeftOut left_out;
  graph::ModelDef model = load_model(left_out);
  graph::Findings findings(rigor_of(options));
  std::vector<Error>& errors = left_out.errors;
  if (options.strict) {
    errors.insert(errors.end(), left_out.tolerable.begin(), left_out.tolerable.end());
  } else {
    for (const Error& error : left_out.tolerable) findings.warn(error);
  }
  if (errors.empty()) {
    // Leftovers belong to entries by their places, which shift when repeated ones are removed.
    if (remove_repeated_entries(model, findings)) left_out.leftovers = {};
    CheckedModel checked{std::move(model), std::move(left_out.leftovers), findings.warnings(),
                         std::move(left_out.files)};
    link_operator_sets(checked.def, options, checked.warnings, checked.files);
    return checked;
  }
  for (const Error& error : errors) findings.add(error);
  std::vector<std::string> warnings;  // what fails gives none
  findings.collect([&] { link_operator_sets(model, options, warnings); });
  add_broken_rules(model, options.limits, left_out.names, findings);
  if (findings.count() == 1) throw errors[0];  // keeps its context
  findings.throw_if_any();
  return {};
}

}  // namespace

graph::Rigor rigor_of(const LoadOptions& options) noexcept {
  return options.strict ? graph::Rigor::strict : graph::Rigor::lenient;
}

CheckedModel load_checked(const std::filesystem::path& file, const LoadOptions& options) {
  return load(options,
              [&](LeftOut& left_out) { return load_model(file, options.limits, left_out); });
}

CheckedModel load_checked(std::span<const std::byte> bytes, const LoadOptions& options) {
  return load(options, [&](LeftOut& left_out) {
    return load_model(bytes, options.limits, options.external_data, left_out);
  });
}

}  // namespace ondine::trainer
