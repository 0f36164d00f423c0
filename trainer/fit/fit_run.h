// One call of Trainer::fit.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>

#include <ondine/data.h>

#include "core/files/atomic_file.h"
#include "core/files/lock_file.h"
#include "trainer/data/batch_reader.h"
#include "trainer/fit/accumulation.h"
#include "trainer/fit/early_stopping.h"
#include "trainer/fit/evaluator.h"
#include "trainer/fit/private_run.h"
#include "trainer/fit/run_state.h"
#include "trainer/fit/schedule.h"
#include "trainer/fit/score/label_check.h"
#include "trainer/fit/sharded_run.h"
#include "trainer/records/recorders.h"

namespace ondine::fit {

// State that a Trainer owns and a run reads and advances.
struct Session {
  Session(Model& trained, TrainerOptions given)
      : model(&trained),
        options(with_ranks(std::move(given))),
        ranks(options),
        accumulation(find_accumulation(trained, options)),
        state(step_metrics(trained, options.algorithm)),
        privacy_(find_privacy(trained, options)) {
    if (accumulation) state.accumulate = accumulation->batches;
    if (options.checkpoint.empty()) return;
    options.checkpoint = follow_link(options.checkpoint.string());
    options.resume =
        options.resume || (options.resume_if_exists && has_checkpoint(options.checkpoint));
  }

  // Keeps other trainers from the checkpoint until `lock` goes; Error(mismatch) where one
  // has it.
  void hold_checkpoint() {
    if (options.checkpoint.empty() || lock.is_held() || !ranks.is_first()) return;
    lock = LockFile(files, options.checkpoint.string());
  }

  const std::optional<Privacy>& privacy() const noexcept { return privacy_; }
  // The algorithm that reads the learning rate.
  std::size_t update() const { return accumulation ? accumulation->update : options.algorithm; }
  // Inputs of the algorithm that take rows: those that no constant of the options feeds.
  std::vector<PortInfo> fed_inputs() const;

  Model* model;
  TrainerOptions options;
  Ranks ranks;
  std::optional<Accumulation> accumulation;
  RunState state;
  bool resumed = false;
  bool restored = false;  // from a checkpoint, and not trained since
  PosixFileSystem files;
  LockFile lock;  // of the checkpoint
  // Told of each step; whether the run goes on.
  bool tell(const StepReport& report) const {
    bool goes_on = true;
    for (const auto& callback : on_step) goes_on = callback(report) && goes_on;
    return goes_on;
  }

  std::vector<std::function<bool(const StepReport&)>> on_step;
  std::vector<std::function<void(const EpochReport&)>> on_epoch;
  std::vector<OwnMetric> metrics;
  std::atomic<bool> stop = false;

 private:
  std::optional<Privacy> privacy_;
};

// Constants that are fed in every step of an algorithm of the run. Error(mismatch) for an input
// that no algorithm has.
NamedValues constants_of(const Model& model, const TrainerOptions& options, std::size_t algorithm);

class FitRun {
 public:
  FitRun(Session& session, const Dataset& training, const Dataset& validation);
  FitReport run();

 private:
  using Clock = std::chrono::steady_clock;

  void require_fitting_batches() const;
  void prepare_augmentation();
  void prepare_privacy();
  void prepare_schedule();
  void prepare_ranks();
  bool exhausted() const;
  // False when something stops it.
  bool run_epoch();
  bool run_sampled_epoch();
  bool run_steps();
  // Why the next step must not run.
  std::optional<StopReason> reason_to_stop() const;
  // Whether the next step must not run, on all ranks alike; with ranks, sets stop_ to the reason.
  bool stops();
  data::BatchOrder order_of_epoch() const;
  std::uint64_t steps_done() const;  // of the run, those before a resume included
  void step(std::uint64_t rows);
  void train_step(std::uint64_t rows);
  void take_batch();
  bool requires_finite() const;
  void sharded_step(std::uint64_t rows);
  void update();
  bool ends_group(std::uint64_t rows) const;
  Evaluation validate();
  void read_metrics();
  EpochReport evaluated(std::uint64_t step);
  bool evaluates_now() const;
  void evaluate_within();
  void judge(EpochReport& epoch);
  void finish_epoch();
  void save();
  void write(const std::filesystem::path& file) const;
  void keep_best();
  void keep_epoch(std::uint64_t epoch);
  void save_after_failure() noexcept;
  FitReport report(StopReason reason, bool did_nothing);
  FitReport run_epochs();

  // Whether the rate of a step is made from a base rate, by the run or the model.
  bool has_base_rate() const;
  void set_learning_rate();
  void put_back_learning_rate();

  Session& session_;
  const TrainerOptions& options_;
  RunState& state_;
  NamedValues constants_;
  RunLength length_;
  std::optional<ModelRate> model_rate_;
  std::optional<Feeder> feeder_;
  bool fed_ = true;         // whether any input takes data
  std::uint64_t rows_ = 0;  // of an epoch
  std::optional<data::Augmenter> augmenter_;
  std::optional<data::BatchReader> reader_;  // of the current epoch
  std::optional<SampledBatches> sampled_;    // likewise, with privacy
  std::optional<ShardedRun> sharded_;        // with micro-shards
  std::optional<StopReason> stop_;           // that all ranks agreed on
  LabelCheck check_labels_;
  std::optional<double> data_wait_;  // seconds of the current epoch
  Clock::time_point epoch_start_;
  Best judged_;  // with the evaluation that callbacks are told of
  std::optional<Validator> validator_;
  WorstErrors worst_;  // of the last validation, for the report
  std::optional<BestEpoch> best_;
  std::optional<BestEpoch> plateau_;  // of a schedule
  NamedValues feeds_;
  // Feeds and results of the algorithm that updates after others added gradients up.
  NamedValues update_constants_;
  std::vector<std::string> update_inputs_;
  NamedValues update_feeds_;
  NamedValues update_results_;  // the rate of a model that schedules it
  // Metrics of the last step and what they count; the rate too unless an update follows.
  NamedValues results_;
  std::vector<std::pair<std::string, std::string>> counted_;  // see metric_weights()
  Metrics counts_;                                            // of the last step
  StepReport step_report_;
  std::optional<records::Recorders> records_;
  std::optional<EpochReport> last_;
  Clock::time_point start_ = Clock::now();
  bool diverged_ = false;
  // A batch is added up, or an update begun on some rank, and not all of what follows is done.
  bool is_between_ = false;
};

}  // namespace ondine::fit
