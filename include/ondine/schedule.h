// Learning rates that change from step to step, set by Trainer or written into a model by prepare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace ondine {

// How the learning rate goes over all steps of a run (epochs times steps of an epoch), from the
// base rate b: TrainerOptions::learning_rate or the model's own. `warmup` is a fraction of all
// steps: over its W steps the rate rises linearly, step i (from 0) having b (i + 1) / (W + 1).
// Progress p is 0 at the first step after it and 1 at the last one.
struct ConstantSchedule {
  double warmup = 0;
};
// b factor^(epoch / every), epochs from 0, in whole numbers.
struct StepSchedule {
  double warmup = 0;
  double factor = 0.1;
  std::uint64_t every = 1;  // epochs
};
// final_rate + (b - final_rate) (1 + cos(pi p)) / 2
struct CosineSchedule {
  double warmup = 0;
  double final_rate = 0;
};
// final_rate + (b - final_rate) (1 - p)^power
struct PolynomialSchedule {
  double warmup = 0;
  double final_rate = 0;
  double power = 1;
};
// Rises along half a cosine from start b to b over the warm-up, then falls as CosineSchedule does.
struct OneCycleSchedule {
  double warmup = 0.3;
  double start = 0.04;
  double final_rate = 0;
};
// b factor^k, not below min_rate, where k grows by one each time that the metric has not improved
// for `patience` epochs.
struct PlateauSchedule {
  double warmup = 0;
  std::string metric = "val_loss";  // as of EarlyStopping
  double factor = 0.1;              // in (0, 1)
  std::uint64_t patience = 2;       // at least 1
  double min_delta = 0;             // what counts as improvement must exceed it
  double min_rate = 0;
};
using Schedule = std::variant<ConstantSchedule, StepSchedule, CosineSchedule, PolynomialSchedule,
                              OneCycleSchedule, PlateauSchedule>;

// A schedule with the lengths that a model must know to compute it (PrepareOptions::schedule).
// Steps are those of the optimizer: with accumulated gradients its updates, and steps that a loss
// scale skips do not count. From the last step on the rate stays what it is there.
struct ModelSchedule {
  Schedule schedule = {};  // not PlateauSchedule, which waits for a metric
  // Steps of the whole run. 0 will do for StepSchedule and ConstantSchedule unless `warmup` is a
  // fraction.
  std::uint64_t steps = 0;
  std::uint64_t epoch_steps = 0;                   // steps of an epoch; StepSchedule needs it
  std::optional<std::uint64_t> warmup_steps = {};  // instead of the fraction `warmup` of `steps`
};

}  // namespace ondine
