#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "core/to_doubles.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

constexpr double margin = 0.01;
constexpr double most_of_all = 0.5;

double share(const std::vector<double>& values, bool (*is)(double)) {
  return values.empty() ? 0
                        : static_cast<double>(std::ranges::count_if(values, is)) /
                              static_cast<double>(values.size());
}

// Complaint about the output of an activation; empty if nothing is wrong.
std::string complaint(const graph::NodeDef& node, const Tensor& output) {
  const bool activation =
      node.op == "Relu" || node.op == "Sigmoid" || node.op == "HardSigmoid" || node.op == "Tanh";
  if (!node.domain.empty() || !activation) return {};
  const auto values = to_doubles(output);
  if (!values || values->empty()) return {};
  if (node.op == "Relu") {
    const bool dead = share(*values, [](double v) { return v == 0; }) == 1;
    return dead ? "gives nothing but zeros" : "";
  }
  const bool is_tanh = node.op == "Tanh";
  const double beyond = is_tanh
                            ? share(*values, [](double v) { return std::abs(v) > 1 - margin; })
                            : share(*values, [](double v) { return v < margin || v > 1 - margin; });
  if (!(beyond > most_of_all)) return {};
  return cat(static_cast<int>(100 * beyond), " % of the elements are within ", margin,
             " of a bound");
}

}  // namespace

void find_saturated(const Examination& on, Findings& findings) {
  for (const Step& step : on.steps) {
    if (step.outputs.empty() || !step.outputs[0]) continue;
    const std::string text = complaint(*step.node, *step.outputs[0]);
    if (text.empty()) continue;
    findings.push_back({"saturated", cat(describe(*step.node), ": ", text),
                        "Lower the scale of the weights and biases before it (train --initialize), "
                        "or normalize the data."});
  }
}

}  // namespace ondine::trainer
