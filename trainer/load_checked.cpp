#include "trainer/load_checked.h"

#include <algorithm>

#include "core/message.h"
#include "graph/check/findings.h"
#include "graph/check/structure.h"
#include "proto/import.h"
#include "trainer/assemble.h"

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
  graph::Findings rules;
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
CheckedModel load(const Limits& limits, const Load& load_model) {
  LeftOut left_out;
  graph::ModelDef model = load_model(left_out);
  if (left_out.errors.empty()) return {std::move(model), std::move(left_out.leftovers)};
  graph::Findings findings;
  for (const Error& error : left_out.errors) findings.add(error);
  add_broken_rules(model, limits, left_out.names, findings);
  if (findings.count() == 1) throw left_out.errors[0];  // keeps its context
  findings.throw_if_any();
  return {std::move(model), {}};
}

}  // namespace

CheckedModel load_checked(const std::filesystem::path& file, const LoadOptions& options) {
  return load(options.limits,
              [&](LeftOut& left_out) { return load_model(file, options.limits, left_out); });
}

CheckedModel load_checked(std::span<const std::byte> bytes, const LoadOptions& options) {
  return load(options.limits, [&](LeftOut& left_out) {
    return load_model(bytes, options.limits, options.external_data, left_out);
  });
}

}  // namespace ondine::trainer
