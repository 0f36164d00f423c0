#include "core/message.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

constexpr double most_deviation = 10;

}  // namespace

void find_weight_scales(const Examination& on, Findings& findings) {
  for (const TrainedParameter& one : on.trained) {
    const auto moments = moments_of(one.value);
    if (!moments || !moments->finite) continue;
    const bool is_matrix = one.value.shape().rank() >= 2 && one.value.size() > 1;
    if (moments->deviation > most_deviation) {
      findings.push_back({"weight-scale",
                          cat("the elements of ", quoted(one.name),
                              " have a standard deviation of ", brief(moments->deviation)),
                          "Start from weights of a usual scale (prepare --init he-uniform, train "
                          "--initialize), or freeze it."});
    } else if (is_matrix && moments->min == moments->max) {
      findings.push_back({"weight-scale",
                          cat("all elements of ", quoted(one.name), " are ", brief(moments->min),
                              moments->min == 0 ? "" : ": its units stay equal"),
                          "Draw random weights: prepare --init he-uniform, train --initialize."});
    }
  }
}

}  // namespace ondine::trainer
