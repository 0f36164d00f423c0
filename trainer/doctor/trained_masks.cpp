#include "core/message.h"
#include "graph/training/prepare/parameters/constants.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {

void find_trained_masks(const Examination& on, Findings& findings) {
  const graph::Operands operands(on.def);
  for (const TrainedParameter& one : on.trained) {
    const graph::LayerUse use = operands.of(one.name, one.value);
    std::string reason = graph::unfit_values(one.value, use);
    if (reason.empty()) {
      reason = graph::constant_reason(one.name, one.value, operands.uses(), use);
    }
    if (reason.empty()) continue;
    findings.push_back({"mask",
                        cat(quoted(one.name), " is trained but looks like a constant: ", reason),
                        cat("Freeze it: prepare --freeze '", one.name, "'.")});
  }
}

}  // namespace ondine::trainer
