#include "graph/training/prepare/updates/check_settings.h"

#include <cmath>

#include "core/message.h"
#include "graph/training/prepare/updates/check_schedule.h"
#include "graph/training/prepare/updates/loss_scale.h"

namespace ondine::graph {
namespace {

template <class Settings, class Require>
void check_optimizer(const Settings& optimizer, const Require& require) {
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto fraction = [](float value) { return value >= 0 && value < 1; };
  require(finite(optimizer.learning_rate), "the learning rate must be a number",
          optimizer.learning_rate);
  require(finite(optimizer.weight_decay) && optimizer.weight_decay >= 0,
          "the weight decay must not be negative", optimizer.weight_decay);
  if constexpr (requires { optimizer.momentum; }) {
    require(fraction(optimizer.momentum), "the momentum must be in [0, 1)", optimizer.momentum);
  }
  if constexpr (requires { optimizer.epsilon; }) {
    require(finite(optimizer.epsilon) && optimizer.epsilon > 0, "epsilon must be a positive number",
            optimizer.epsilon);
  }
  if constexpr (requires { optimizer.rank; }) {
    require(optimizer.rank > 0, "the rank of a projection must be positive",
            static_cast<double>(optimizer.rank));
    require(optimizer.every > 0, "a projection must last at least 1 step",
            static_cast<double>(optimizer.every));
    require(finite(optimizer.scale) && optimizer.scale > 0,
            "the factor of projected steps must be positive", optimizer.scale);
  }
  if constexpr (requires { optimizer.distance; }) {
    require(finite(optimizer.distance) && optimizer.distance > 0,
            "the distance of losses must be positive", optimizer.distance);
  }
  if constexpr (requires { optimizer.beta1; }) {
    require(fraction(optimizer.beta1), "beta1 must be in [0, 1)", optimizer.beta1);
    require(fraction(optimizer.beta2), "beta2 must be in [0, 1)", optimizer.beta2);
  }
}

// Losses at two points, without derivatives.
void check_forward_only(const PrepareOptions& options) {
  if (!std::holds_alternative<Mezo>(options.optimizer)) return;
  const bool scales = !std::holds_alternative<std::monostate>(options.loss_scale) &&
                      !std::holds_alternative<NoLossScale>(options.loss_scale);
  const char* excluded = options.privacy ? "training with privacy (--dp-clip)"
                         : options.qat   ? "quantization-aware training (--qat)"
                         : scales        ? "a factor on the loss (--loss-scale)"
                                         : nullptr;
  if (excluded != nullptr) fail(ErrorCode::mismatch, "forward-only training excludes ", excluded);
}

// A step computes the loss at other points than the parameters, which are averages themselves.
void check_schedule_free(const PrepareOptions& options) {
  if (!std::holds_alternative<ScheduleFree>(options.optimizer)) return;
  const char* excluded = options.average      ? "averages of parameters (--ema, --swa)"
                         : options.accumulate ? "accumulated gradients (--accumulate)"
                         : options.privacy    ? "training with privacy (--dp-clip)"
                         : options.qat        ? "quantization-aware training (--qat)"
                                              : nullptr;
  if (excluded != nullptr) {
    fail(ErrorCode::mismatch, "schedule-free training excludes ", excluded);
  }
}

}  // namespace

void check_update_settings(const PrepareOptions& options) {
  const auto require = [](bool holds, const char* what, double value) {
    if (!holds) fail(ErrorCode::mismatch, what, ", found ", value);
  };
  check_loss_scale(options.loss_scale);
  if (options.schedule) check_schedule(*options.schedule);
  require(!options.clip_norm || *options.clip_norm > 0, "the clipping norm must be positive",
          options.clip_norm.value_or(1));
  require(!options.clip_value || *options.clip_value > 0, "the clipping value must be positive",
          options.clip_value.value_or(1));
  require(options.accumulate != 0, "gradients must be accumulated over at least 1 batch", 0);
  for (const RateGroup& group : options.rate_groups) {
    require(std::isfinite(group.scale) && group.scale > 0,
            "the factor of a learning rate must be positive", group.scale);
  }
  for (const DecayGroup& group : options.decay_groups) {
    require(std::isfinite(group.scale) && group.scale >= 0,
            "the factor of a weight decay must not be negative", group.scale);
  }
  check_schedule_free(options);
  check_forward_only(options);
  if (options.average) {
    require(options.average->decay >= 0 && options.average->decay <= 1,
            "the decay of averages must be in [0, 1]", options.average->decay);
  }
  std::visit([&](const auto& optimizer) { check_optimizer(optimizer, require); },
             options.optimizer);
}

}  // namespace ondine::graph
