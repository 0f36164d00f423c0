#include <span>

#include "core/message.h"
#include "graph/training/prepare/parameters/initialize.h"
#include "trainer/doctor/examination.h"
#include "trainer/model/model_impl.h"

namespace ondine::trainer {
namespace {

constexpr double most_weight_deviation = 10;

}  // namespace

void find_weight_scales(const Examination& on, Findings& findings) {
  const std::span<const graph::FunctionDef> functions =
      on.model == nullptr ? std::span<const graph::FunctionDef>()
                          : ModelAccess::impl(*on.model).def.functions;
  for (const TrainedParameter& one : on.trained) {
    const auto moments = moments_of(one.value);
    if (!moments || !moments->finite || one.value.size() < 2) continue;
    if (on.resting.contains(one.name)) continue;
    // Terms, factors and subtracted values have no usual scale of their own: the data decides.
    if (!graph::multiplies_data(on.def, functions, {one.name, one.value, {}, {}})) continue;
    if (moments->deviation > most_weight_deviation) {
      findings.push_back(
          {"weight-scale",
           cat("the elements of ", quoted(one.name), " have a standard deviation of ",
               brief(moments->deviation)),
           "Freeze it if it has been trained; otherwise start from weights of a usual "
           "scale (prepare --init he-uniform, train --initialize)."});
    } else if (moments->min == moments->max) {
      findings.push_back({"weight-scale",
                          cat("all elements of ", quoted(one.name), " are ", brief(moments->min),
                              moments->min == 0 ? "" : ": its units stay equal"),
                          "Draw random weights: prepare --init he-uniform, train --initialize."});
    }
  }
}

}  // namespace ondine::trainer
