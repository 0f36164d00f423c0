// Records of a run while it goes on.
#pragma once

#include <string>

#include <ondine/trainer.h>

#include "trainer/fit/score/worst_errors.h"

namespace ondine::records {

struct StepRecord {
  std::uint64_t step = 0;  // of the model since it was initialized
  double seconds = 0;      // since the run began in this process
  std::optional<double> learning_rate;
  const StepReport* report = nullptr;
};

struct EpochRecord {
  double seconds = 0;
  std::optional<double> learning_rate;
  const EpochReport* report = nullptr;
  const std::vector<fit::WorstError>* worst = nullptr;  // of the validation
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void step(const StepRecord& record) = 0;
  virtual void epoch(const EpochRecord& record) = 0;
  // How the run ended, in words; `failed` unless it returned a FitReport.
  virtual void end(const std::string& outcome, bool failed, double seconds) = 0;
};

}  // namespace ondine::records
