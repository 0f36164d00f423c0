// The training loop: epochs over a data set, evaluation, checkpoints and resuming.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/model.h>

namespace ondine {

// Numbers by name, in order.
class Metrics {
 public:
  // Error(mismatch) naming the metrics there are.
  double operator[](std::string_view name) const;
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
  const double* find(std::string_view name) const noexcept;
  void set(std::string_view name, double value);

  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  auto begin() const noexcept { return values_.begin(); }
  auto end() const noexcept { return values_.end(); }

 private:
  std::vector<std::pair<std::string, double>> values_;
};
// "loss 0.25, accuracy 0.9"
std::ostream& operator<<(std::ostream& out, const Metrics& metrics);

// Stops when a metric has not improved for `patience` epochs.
struct EarlyStopping {
  // A validation metric with "val_" in front, or a metric of training.
  std::string metric = "val_loss";
  std::uint64_t patience = 3;  // at least 1
  double min_delta = 0;        // what counts as improvement must exceed it
  // At the end the state of the best epoch takes the place of the last one.
  bool restore_best = true;
  // Whether larger is better; empty: for accuracies, as told by the name, and for nothing else.
  std::optional<bool> maximize = {};
};

struct TrainerOptions {
  std::uint64_t epochs = 1;
  std::uint64_t batch_size = 32;
  std::uint64_t seed = 0;  // of the order of rows and of the split
  std::size_t algorithm = 0;
  // This fraction of the training rows is set apart for validation (Dataset::split), instead of a
  // validation part that the data may have.
  double validation_split = 0;
  std::optional<float> learning_rate = {};  // instead of the model's own
  std::optional<EarlyStopping> early_stopping = {};
  // The run ends before the first step after this time and can be resumed.
  std::optional<std::chrono::milliseconds> max_time = {};
  // Written after each epoch and when the run is stopped; FILE.best holds the best epoch of early
  // stopping. fit() refuses to replace a file that exists unless `resume` or `overwrite` is set.
  std::filesystem::path checkpoint = {};
  std::uint64_t checkpoint_every = 0;  // written after every N steps of an epoch too
  bool resume = false;                 // fit() begins with resume()
  bool overwrite = false;
  // Numbers fed to scalar inputs in every step.
  std::vector<std::pair<std::string, double>> constants = {};
  ArrayMap map = {};         // see Feeder
  bool stop_on_nan = false;  // Error(mismatch) when a metric of a step is not finite
};

// After a step. Means weigh every step by its rows.
struct StepReport {
  std::uint64_t epoch = 0;  // from 1
  std::uint64_t epochs = 0;
  std::uint64_t step = 0;        // in the epoch, from 1
  std::uint64_t rows = 0;        // of the epoch that are done
  std::uint64_t epoch_rows = 0;  // of the whole epoch
  Metrics last;                  // of this step
  Metrics mean;                  // of the epoch so far
};

struct EpochReport {
  std::uint64_t epoch = 0;  // from 1
  std::uint64_t epochs = 0;
  std::uint64_t steps = 0;  // of the model since it was initialized
  std::uint64_t rows = 0;
  double seconds = 0;  // of the steps in this process
  Metrics training;    // means over the epoch
  Metrics validation;  // empty without validation data
  bool best = false;   // early stopping's best epoch up to now
};
// "epoch 1/3: loss 0.25, accuracy 0.9, validation accuracy 0.88, 1.5 s"
std::ostream& operator<<(std::ostream& out, const EpochReport& report);

enum class StopReason : std::uint8_t {
  completed,       // all epochs
  early_stopping,  // no improvement
  time_limit,      // TrainerOptions::max_time
  requested,       // request_stop(), or on_step's callback returned false
};
const char* to_string(StopReason reason) noexcept;

struct FitReport {
  StopReason reason = StopReason::completed;
  std::uint64_t epochs = 0;               // completed, those before a resume included
  bool already_finished = false;          // the resumed run had nothing left to do
  std::uint64_t best_epoch = 0;           // of early stopping; 0: none
  std::optional<double> best_value = {};  // of its metric
  bool restored_best = false;             // the model's state is that of best_epoch
  std::optional<EpochReport> last = {};   // of the epochs of this call
};
std::ostream& operator<<(std::ostream& out, const FitReport& report);

struct EvaluateOptions {
  std::uint64_t batch_size = 256;
  ArrayMap map = {};
  std::string label = {};   // column of the labels; empty: see evaluate
  std::string output = {};  // of the main graph; empty: the first
};
struct Evaluation {
  Metrics metrics;
  std::uint64_t rows = 0;
};
// Compares an output of the main graph with labels. Integer labels: "accuracy", how often the
// largest entry along axis 1 is the label (the first of several). Floating point labels: "mse", the
// mean squared difference. The labels are the input that only a training algorithm has, else the
// smallest column that no input takes. A last short batch is left out where the inputs ask for a
// fixed batch size. Const and concurrent like infer. Error(mismatch) where there are no labels, no
// rows, or shapes that do not fit.
Evaluation evaluate(const Model& model, const Dataset& data, const EvaluateOptions& options = {});

// Error(io) unless the file could be created or replaced; leaves nothing behind.
void require_writable(const std::filesystem::path& file);

// Trains a model, which must outlive it and which no one else may train meanwhile. The order of
// rows is a pure function of seed and epoch, so that a run that is stopped and resumed ends with
// the same bits as one that was not. For one thread at a time, but for request_stop().
class Trainer {
 public:
  // Error(mismatch) for options that make no sense or an algorithm that the model does not have.
  Trainer(Model& model, TrainerOptions options);
  Trainer(Model&& model, TrainerOptions options) = delete;
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // Called after each step, on the thread of fit(); false stops the run as request_stop() does.
  void on_step(std::function<bool(const StepReport&)> callback);
  // Called after each epoch, before its checkpoint is written.
  void on_epoch(std::function<void(const EpochReport&)> callback);

  // Restores the checkpoint of the options; the next fit() continues from there. Error(mismatch)
  // for another batch size, split or metric of early stopping than it was written with.
  RestoreReport resume();

  // Trains on the training part until all epochs are done or something stops the run, and evaluates
  // on the validation part after each epoch. When a step fails, the state of the last good one is
  // saved and the Error goes on; a state that is not finite (stop_on_nan) is not saved.
  FitReport fit(const Dataset& data);
  FitReport fit(const Dataset& training, const Dataset& validation);

  Evaluation evaluate(const Dataset& data) const;

  // From any thread or a signal handler: fit() ends before the next step, saves and returns.
  void request_stop() noexcept;

  // Where training stands.
  const TrainingCursor& cursor() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ondine
