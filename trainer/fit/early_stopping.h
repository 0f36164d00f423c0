// Early stopping: which epoch was best, and its state.
#pragma once

#include <string_view>

#include "trainer/fit/run_state.h"

namespace ondine::fit {

// Prefix of the names of metrics of validation rows.
inline constexpr std::string_view validation_prefix = "val_";

class BestEpoch {
 public:
  // Error(mismatch) that lists the metrics there are when `options` names none of them.
  BestEpoch(const EarlyStopping& options, const std::filesystem::path& checkpoint,
            const std::vector<std::string>& training, const std::vector<std::string>& validation);

  // Whether the epoch is the best up to now; a value that is not a number never is.
  bool judge(const EpochReport& report, Best& best) const;
  bool exhausted(const Best& best) const noexcept { return best.stale >= options_.patience; }

  // Keeps the model's state: in FILE.best when there is a checkpoint, else in memory.
  void keep(const Model& model, const TrainingCursor& cursor, const Properties& properties);
  void restore(Model& model) const;

 private:
  double value_of(const EpochReport& report) const;

  EarlyStopping options_;
  std::filesystem::path file_;
  bool of_validation_;
  bool maximize_;
  std::string metric_;  // without the prefix
  NamedValues state_;
};

}  // namespace ondine::fit
