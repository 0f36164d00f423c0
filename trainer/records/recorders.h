// All records of a run. A failure to write ends the record, not the run.
#pragma once

#include <chrono>
#include <memory>

#include "trainer/records/recorder.h"

namespace ondine::records {

class Recorders {
 public:
  using Clock = std::chrono::steady_clock;

  // Opens them. Error(mismatch) or Error(io) when one cannot be written. resumed_at: the model's
  // steps if the run is a resumed one.
  Recorders(const Model& model, const TrainerOptions& options, const Dataset& training,
            const Dataset& validation, std::optional<std::uint64_t> resumed_at);

  bool empty() const noexcept { return recorders_.empty(); }
  void step(const StepReport& report, std::uint64_t step);
  void epoch(const EpochReport& report, const std::vector<fit::WorstError>& worst);
  void end(const std::string& outcome, bool failed) noexcept;

  // Error of the first recorder that failed; empty if none did.
  const std::string& note() const noexcept { return note_; }

 private:
  template <class Use>
  void each(const Use& use);
  double seconds() const;

  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::optional<double> rate_;  // where steps do not say it
  std::string note_;
  Clock::time_point start_ = Clock::now();
};

// Tries every place that the options name, before any work. Error(io) or Error(mismatch).
void require_records(const TrainerOptions& options, bool resumed);

}  // namespace ondine::records
