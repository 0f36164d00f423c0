// Training with differential privacy: the noise, or what it is computed from.
#include <algorithm>
#include <cmath>
#include <limits>

#include <ondine/error.h>
#include <ondine/privacy.h>

#include "core/message.h"
#include "trainer/fit/private_run.h"
#include "trainer/options/parse.h"
#include "trainer/options/prepare_parts.h"

namespace ondine::options {
namespace {

void add_noise(Rows<PrepareTarget>& rows) {
  rows.real("dp-noise", "SIGMA", "Standard deviation of the noise, as a multiple of the bound",
            [](PrepareTarget& to, double value) {
              to.options.privacy->noise = static_cast<float>(value);
            })
      .from(0)
      .by_default("1")
      .needs({"dp-clip"});
  rows.integer("dp-batch", "ROWS", "Rows of a batch in the mean, the batch size of training",
               [](PrepareTarget& to, std::int64_t value) {
                 to.options.privacy->batch_size = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .needs({"dp-clip"});
  rows.flag("dp-secure-noise",
            "Noise and batches from a cryptographic generator (ChaCha20); no run can be repeated",
            [](PrepareTarget& to, bool value) { to.options.privacy->secure_noise = value; })
      .needs({"dp-clip"});
}

// Options for the privacy that a run is to spend.
void add_goal(Rows<PrepareTarget>& rows) {
  rows.real("dp-epsilon", "EPSILON",
            "The least noise with which a run spends at most this, in place of dp-noise",
            [](PrepareTarget& to, double value) { to.privacy_goal.epsilon = value; })
      .above(0)
      .needs({"dp-clip"})
      .excludes("dp-noise");
  rows.real("dp-delta", "DELTA",
            "Delta of dp-epsilon; the largest power of ten up to 1 / rows if absent",
            [](PrepareTarget& to, double value) { to.privacy_goal.delta = value; })
      .above(0)
      .below(1)
      .needs({"dp-epsilon"});
  rows.integer("dp-rows", "ROWS", "Training rows of the run that dp-epsilon is for",
               [](PrepareTarget& to, std::int64_t value) {
                 to.privacy_goal.rows = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .needs({"dp-epsilon"});
  rows.integer("dp-epochs", "EPOCHS", "Epochs of the run that dp-epsilon is for",
               [](PrepareTarget& to, std::int64_t value) {
                 to.privacy_goal.epochs = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .needs({"dp-epsilon"});
}

// Not below the noise, which would spend more.
float rounded_up(double noise) {
  const auto nearest = static_cast<float>(noise);
  if (static_cast<double>(nearest) >= noise) return nearest;
  return std::nextafter(nearest, std::numeric_limits<float>::infinity());
}

}  // namespace

void add_privacy(Rows<PrepareTarget>& rows) {
  rows.heading("Privacy");
  rows.real("dp-clip", "NORM",
            "Train with differential privacy: bound of the norm of each row's gradient",
            [](PrepareTarget& to, double value) {
              to.options.privacy.emplace();
              to.options.privacy->clip = static_cast<float>(value);
            })
      .above(0);
  add_noise(rows);
  add_goal(rows);
}

void reach_privacy_goal(PrepareTarget& target, OptionSpelling spelling) {
  const PrivacyGoal& goal = target.privacy_goal;
  if (!goal.epsilon) return;
  Privacy& privacy = *target.options.privacy;
  const auto needs = [&](const char* name) {
    throw Error(ErrorCode::invalid_option, spelled("dp-epsilon", spelling) + " needs " +
                                               spelled(name, spelling) +
                                               ": the noise depends on it");
  };
  if (privacy.batch_size == 0) needs("dp-batch");
  if (goal.rows == 0) needs("dp-rows");
  if (goal.epochs == 0) needs("dp-epochs");
  if (privacy.batch_size > goal.rows) {
    throw Error(ErrorCode::invalid_option,
                cat(spelled("dp-batch", spelling), " must be at most ",
                    spelled("dp-rows", spelling), ", ", goal.rows, ", found ", privacy.batch_size));
  }
  const std::uint64_t steps = (goal.rows + privacy.batch_size - 1) / privacy.batch_size;
  if (goal.epochs > std::numeric_limits<std::uint64_t>::max() / steps) {
    throw Error(ErrorCode::invalid_option,
                cat(spelled("dp-epochs", spelling), " of ", steps, " steps each are too many"));
  }
  const double rate = static_cast<double>(privacy.batch_size) / static_cast<double>(goal.rows);
  const double delta = goal.delta.value_or(fit::default_delta(goal.rows));
  privacy.noise = rounded_up(noise_for(*goal.epsilon, delta, rate, steps * goal.epochs));
}

}  // namespace ondine::options
