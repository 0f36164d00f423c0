#include <algorithm>
#include <set>

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/values.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

// Whether it normalizes with its running statistics instead of those of the batch.
bool uses_running_statistics(const graph::NodeDef& node, std::int64_t opset) {
  if (node.op != "BatchNormalization" || !node.domain.empty()) return false;
  if (opset >= 14) return graph::integer_attribute(node, "training_mode", 0) == 0;
  if (opset < 7) return graph::integer_attribute(node, "is_test", 0) != 0;
  return node.outputs.size() == 1;
}

}  // namespace

void find_frozen_statistics(const Examination& on, Findings& findings) {
  std::vector<std::string> names;
  // Values that depend on a trained parameter: the statistics of a frozen part are meant to stay.
  std::set<std::string, std::less<>> learned;
  for (const TrainedParameter& one : on.trained) learned.insert(one.name);
  for (const Step& step : on.steps) {
    const auto reads = graph::reads_of(*step.node);
    const bool learns =
        std::ranges::any_of(reads, [&](const auto& name) { return learned.contains(name); });
    if (!learns) continue;
    learned.insert(step.node->outputs.begin(), step.node->outputs.end());
    if (!uses_running_statistics(*step.node, on.opset)) continue;
    names.push_back(step.node->name.empty() ? step.node->outputs[0] : step.node->name);
  }
  if (names.empty()) return;
  findings.push_back({"statistics",
                      cat("BatchNormalization ", list_names(names),
                          ": training uses the mean and variance of the file and does not change "
                          "them"),
                      "Right for small batches of similar data; otherwise prepare without "
                      "--no-training-mode."});
}

}  // namespace ondine::trainer
