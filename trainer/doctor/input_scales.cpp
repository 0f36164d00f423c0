#include <cmath>

#include "core/message.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

constexpr double most_input_deviation = 5;
constexpr double least_deviation = 0.02;
constexpr double most_mean = 3;

bool is_usual(const Moments& of) {
  return std::abs(of.mean) <= most_mean && of.deviation <= most_input_deviation &&
         of.deviation >= least_deviation;
}

}  // namespace

void find_input_scales(const Examination& on, Findings& findings) {
  if (on.options.synthetic) return;
  for (const auto& [name, value] : on.feeds) {
    if (!value.is_tensor() || !is_float(value.tensor().dtype()) || value.tensor().size() < 2) {
      continue;
    }
    const auto moments = moments_of(value.tensor());
    if (!moments || !moments->finite || is_usual(*moments)) continue;
    findings.push_back({"input-scale",
                        cat("the batch of input ", quoted(name), " has mean ", brief(moments->mean),
                            " and standard deviation ", brief(moments->deviation)),
                        "Scale the data to a mean near 0 and a standard deviation near 1, in "
                        "training and in use."});
  }
}

}  // namespace ondine::trainer
