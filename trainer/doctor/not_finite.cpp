#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "core/to_doubles.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

enum class NumberKind { finite, infinite, nan };

NumberKind kind_of(const Tensor& tensor) {
  const auto values = to_doubles(tensor);
  NumberKind kind = NumberKind::finite;
  for (const double value : values.value_or(std::vector<double>())) {
    if (std::isnan(value)) return NumberKind::nan;
    if (std::isinf(value)) kind = NumberKind::infinite;
  }
  return kind;
}

const char* name_of(NumberKind kind) { return kind == NumberKind::nan ? "NaN" : "an infinity"; }

constexpr const char* overflow_remedy =
    "In float16 it overflows: a dynamic loss scale halves until it is finite, and such steps "
    "change "
    "nothing; if it always is, lower the learning rate or normalize the data.";

// Infinities are legal in masks; they count where the result of the step is not finite.
bool result_is_finite(const Examination& on) {
  return std::ranges::all_of(on.losses, [](double loss) { return std::isfinite(loss); }) &&
         std::ranges::all_of(on.trained, [](const TrainedParameter& one) {
           return kind_of(one.gradient) == NumberKind::finite;
         });
}

}  // namespace

void find_not_finite(const Examination& on, Findings& findings) {
  const NumberKind least = result_is_finite(on) ? NumberKind::nan : NumberKind::infinite;
  for (const auto& [name, value] : on.feeds) {
    if (!value.is_tensor() || kind_of(value.tensor()) < least) continue;
    findings.push_back({"not-finite",
                        cat("input ", quoted(name), " contains ", name_of(kind_of(value.tensor()))),
                        "Remove or fill such rows of the data (--fill for .csv)."});
    return;
  }
  for (const TrainedParameter& one : on.trained) {
    if (kind_of(one.value) == NumberKind::finite) continue;
    findings.push_back(
        {"not-finite",
         cat("parameter ", quoted(one.name), " contains ", name_of(kind_of(one.value))),
         "Freeze it if it is a mask, else start from other weights."});
    return;
  }
  for (const Step& step : on.steps) {
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (!step.outputs[i] || kind_of(*step.outputs[i]) < least) continue;
      findings.push_back({"not-finite",
                          cat("value ", quoted(step.node->outputs[i]), " of ", describe(*step.node),
                              " is the first to contain ", name_of(kind_of(*step.outputs[i]))),
                          "Normalize the data, lower the scale of the weights before it, or keep "
                          "its operand away from zero."});
      return;
    }
  }
  for (const TrainedParameter& one : on.trained) {
    if (kind_of(one.gradient) == NumberKind::finite) continue;
    const bool is_scaled = one.gradient.dtype() == DType::float16;
    findings.push_back({"not-finite",
                        cat("the gradient of ", quoted(one.name), " contains ",
                            name_of(kind_of(one.gradient)), "; all values before it are finite"),
                        is_scaled ? overflow_remedy
                                  : "Look for a square root, logarithm or division at zero on its "
                                    "way to the loss."});
    return;
  }
}

}  // namespace ondine::trainer
