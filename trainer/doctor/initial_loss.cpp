#include <cmath>

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

// A little more than an untrained network has whose logits are of size 1.
double most_for(double classes) { return 1.5 * std::log(classes) + 0.5; }

bool is_mean(const graph::NodeDef& node) {
  const graph::Attribute* reduction = graph::find(node.attributes, "reduction");
  if (reduction == nullptr) return true;
  const auto* text = std::get_if<std::string>(&reduction->data);
  return text != nullptr && *text == "mean";
}

// The size of axis 1 of the scores on the batch; 0 where it is unknown.
std::int64_t classes_of(const Examination& on, const std::string& scores) {
  for (const Step& step : on.steps) {
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.node->outputs[i] != scores || !step.outputs[i]) continue;
      const Shape& shape = step.outputs[i]->shape();
      return shape.rank() < 2 ? 0 : shape[1];
    }
  }
  return 0;
}

}  // namespace

void find_initial_loss(const Examination& on, Findings& findings) {
  if (on.options.synthetic) return;
  for (const Step& step : on.steps) {
    const graph::NodeDef& node = *step.node;
    const bool is_loss =
        graph::one_of(node.op, {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"});
    if (!is_loss || !is_mean(node) || !step.outputs[0]) continue;
    const auto classes = static_cast<double>(classes_of(on, node.inputs[0]));
    const auto loss = moments_of(*step.outputs[0]);
    if (classes < 2 || !loss || !loss->finite || loss->mean <= most_for(classes)) continue;
    findings.push_back(
        {"initial-loss",
         cat("the loss on the batch is ", brief(loss->mean), "; guessing among ",
             static_cast<std::int64_t>(classes), " classes gives ", brief(std::log(classes))),
         "Check that labels are numbered as the outputs are, and lower the scale of "
         "the last layer."});
  }
}

}  // namespace ondine::trainer
