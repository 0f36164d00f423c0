#include <algorithm>
#include <set>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/training/prepare/names.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

using Strings = std::set<std::string, std::less<>>;

bool all_zero(const Tensor& tensor) {
  const auto values = to_doubles(tensor);
  return values && !values->empty() &&
         std::ranges::all_of(*values, [](double value) { return value == 0; });
}

// Whether the derivative of the node is zero on this batch.
bool is_flat(const Step& step) {
  if (graph::one_of(step.node->op, {"Floor", "Ceil", "Round", "Sign"})) return true;
  return graph::one_of(step.node->op, {"Relu", "Mul", "MatMul", "Gemm", "Conv"}) &&
         !step.outputs.empty() && step.outputs[0] && all_zero(*step.outputs[0]);
}

// The first node after the parameter that passes no derivative on; nullptr if none is known to.
const graph::NodeDef* flat_after(const Examination& on, const std::string& parameter) {
  Strings after{parameter};
  for (const Step& step : on.steps) {
    const auto reads = graph::reads_of(*step.node);
    if (std::ranges::none_of(reads, [&](const auto& name) { return after.contains(name); })) {
      continue;
    }
    if (is_flat(step)) return step.node;
    after.insert(step.node->outputs.begin(), step.node->outputs.end());
  }
  return nullptr;
}

bool is_reported(const Findings& findings, const std::string& name) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.message.find(quoted(name)) != std::string::npos;
  });
}

}  // namespace

void find_zero_gradients(const Examination& on, Findings& findings) {
  std::vector<std::pair<const graph::NodeDef*, std::vector<std::string>>> groups;
  for (const TrainedParameter& one : on.trained) {
    if (!all_zero(one.gradient) || is_reported(findings, one.name)) continue;
    if (on.resting.contains(one.name)) continue;
    const graph::NodeDef* flat = flat_after(on, one.name);
    auto group = std::ranges::find(groups, flat, [](const auto& pair) { return pair.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {flat, {}});
    group->second.push_back(one.name);
  }
  for (const auto& [flat, names] : groups) {
    const std::string where =
        flat == nullptr ? "" : cat("; ", describe(*flat), " has a derivative of zero there");
    findings.push_back(
        {"zero-gradient",
         cat("the gradient of ", list_names(names), " is zero on the batch", where),
         "Start from other weights (train --initialize), or feed data that reaches these "
         "parameters."});
  }
}

}  // namespace ondine::trainer
