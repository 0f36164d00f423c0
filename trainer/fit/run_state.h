// Where a training run stands, in memory and in a checkpoint's properties.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/trainer.h>

#include "trainer/fit/spent_privacy.h"

namespace ondine::fit {

// Sums over the epoch, weighted by what a batch counts: its rows, or labels.
class MetricSums {
 public:
  explicit MetricSums(const std::vector<std::string>& names);
  // `weights`: weights of the metrics that do not count rows, under their names.
  void add(const Metrics& step, std::uint64_t rows, const Metrics& weights);
  void clear();
  // Writes the means into `to`; 0 where nothing counted.
  void mean(Metrics& to) const;
  // Error(mismatch) where no label of any row counted.
  void require_labels() const;
  std::uint64_t rows() const noexcept { return rows_; }

 private:
  friend struct RunState;
  struct Sum {
    std::string name;
    double sum = 0;
    double weight = 0;
  };
  std::vector<Sum> sums_;
  std::uint64_t rows_ = 0;
};

// Early stopping: the best epoch and how many have passed since.
struct Best {
  std::optional<double> value;
  std::uint64_t epoch = 0;  // from 1
  std::uint64_t stale = 0;  // evaluations without improvement
  std::uint64_t step = 0;   // of `epoch`; 0: its end
};

struct RunState {
  explicit RunState(const std::vector<std::string>& metrics) : sums(metrics) {}

  Properties properties(const TrainerOptions& options) const;
  // Error(mismatch) where the checkpoint was written with other options.
  void restore(const RestoreReport& report, const TrainerOptions& options);

  // Error(mismatch) unless a resumed run was begun with the same schedule (describe).
  void require_schedule(const std::string& text);

  TrainingCursor cursor;
  MetricSums sums;
  Best best;
  Best plateau;                  // of a PlateauSchedule
  std::uint64_t drops = 0;       // of its rate
  std::uint64_t accumulate = 1;  // batches for an update
  SpentPrivacy spent;
  std::optional<double> base_rate;      // of a schedule
  std::optional<std::string> schedule;  // that the run was begun with
};

}  // namespace ondine::fit
