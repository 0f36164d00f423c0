#include <cmath>
#include <optional>

#include "core/message.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

constexpr double least = 1e-7;
constexpr double most = 1;
constexpr double most_adaptive = 0.03;  // for Adam and the like

std::optional<double> rate_of(const Examination& on) {
  try {
    return static_cast<double>(on.model->learning_rate(on.options.algorithm));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::mismatch) throw;
    return std::nullopt;  // it is fed in every step, or has no name that tells
  }
}

// Adam and AdamW keep two moments of every element.
bool is_adaptive(const Model& model) {
  std::int64_t weights = 0;
  std::int64_t states = 0;
  for (const StateInfo& one : model.state()) {
    if (one.role == StateRole::weight) weights += one.shape.size();
    if (one.role == StateRole::optimizer_state) states += one.shape.size();
  }
  return weights > 0 && 2 * states > 3 * weights;
}

}  // namespace

void find_learning_rate(const Examination& on, Findings& findings) {
  const auto rate = rate_of(on);
  if (!rate) return;
  const double bound = is_adaptive(*on.model) ? most_adaptive : most;
  if (std::isfinite(*rate) && *rate >= least && *rate <= bound) return;
  findings.push_back({"learning-rate",
                      cat("the learning rate is ", brief(*rate), "; usual are ", brief(least),
                          " to ", brief(bound), bound == most_adaptive ? " with Adam" : ""),
                      cat("Choose another: train --learning-rate ",
                          bound == most_adaptive ? "0.001" : "0.01", ".")});
}

}  // namespace ondine::trainer
