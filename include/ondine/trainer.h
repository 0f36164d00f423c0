// The training loop: epochs over a data set, evaluation, checkpoints and resuming.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/augment.h>
#include <ondine/communicator.h>
#include <ondine/dataset.h>
#include <ondine/export.h>
#include <ondine/metrics.h>
#include <ondine/model.h>
#include <ondine/schedule.h>

namespace ondine {

// How often positions with each label were given each class.
struct ConfusionMatrix {
  std::size_t classes = 0;
  std::vector<std::uint64_t> counts = {};  // classes x classes, a row for each label
  std::vector<std::string> names = {};     // of the classes; empty, or one for each

  std::uint64_t count(std::size_t label, std::size_t predicted) const {
    return counts[label * classes + predicted];
  }
};

// Stops when a metric has not improved for `patience` epochs.
struct EarlyStopping {
  // A validation metric with "val_" in front, or a metric of training.
  std::string metric = "val_loss";
  std::uint64_t patience = 3;  // at least 1
  double min_delta = 0;        // what counts as improvement must exceed it
  // At the end the state of the best epoch takes the place of the last one.
  bool restore_best = true;
  // Whether larger is better; empty: as docs/metrics.md says of the name, of others for accuracies,
  // as told by the name.
  std::optional<bool> maximize = {};
};

// Reaction of a run to a metric of a step that is not finite.
enum class OnNan : std::uint8_t {
  // The step fails: Error(not_finite) that names the step and the first tensor that was not finite.
  // With UpdatePolicy::atomic the model keeps the state from before the step.
  stop,
  proceed,  // training goes on
};

struct TrainerOptions {
  std::uint64_t epochs = 1;
  std::uint64_t batch_size = 32;
  std::uint64_t seed = 0;  // of the order of rows and of the split
  std::size_t algorithm = 0;
  // Number of batches whose gradients are added up before an update, for a model that
  // PrepareOptions::accumulate made; replaces the number that it was made with. An epoch ends with
  // an update, which may hold fewer. Schedules count updates.
  std::optional<std::uint64_t> accumulate = {};
  // Validation uses the averages of the parameters (PrepareOptions::average).
  bool averaged = false;
  // This fraction of the training rows is set apart for validation (Dataset::split), instead of a
  // validation part that the data may have.
  double validation_split = 0;
  // At least 2: cross-validation before the training. For each fold of the training part
  // (Dataset::folds) a copy of the model, as it is, trains on the other rows and is evaluated on
  // the fold (FitReport::folds); copies write no files. Then the model itself trains on all rows,
  // without validation: for as many epochs as the best ones of the folds are in the mean, where
  // early stopping watches validation. Error(mismatch) beside `validation_split`, `max_time` and a
  // resumed run, for data with a validation part and for a plateau of a validation metric.
  std::uint64_t folds = 0;
  std::optional<float> learning_rate = {};  // instead of the model's own
  // Any but a constant rate sets the model's learning rate (Model::set_learning_rate) before each
  // step; fit() puts the base rate back when it returns. A resumed run must have the same one.
  // Error(mismatch) for a model with a schedule of its own (PrepareOptions::schedule), which a run
  // without one follows; its base rate is then set as that of a schedule here.
  Schedule schedule = {};
  std::optional<EarlyStopping> early_stopping = {};
  // The run ends before the first step after this time and can be resumed.
  std::optional<std::chrono::milliseconds> max_time = {};
  // The run ends after this many steps, those before a resume included, and can be resumed with a
  // larger number. At least 1. Schedules go by the epochs all the same.
  std::optional<std::uint64_t> max_steps = {};
  // Written after each epoch and when the run is stopped; FILE.best holds the best epoch of early
  // stopping. fit() refuses to replace a file that exists unless `resume`, `resume_if_exists` or
  // `overwrite` is set. From resume() or fit() on until fit() returns, FILE.lock keeps other
  // trainers of this and other processes from the file: theirs is an Error(mismatch).
  std::filesystem::path checkpoint = {};
  std::uint64_t checkpoint_every = 0;  // written after every N steps of an epoch too
  // Evaluates on the validation part after every N steps of an epoch too, with a report, the best
  // state and the patience of early stopping as after an epoch. Error(mismatch) without validation.
  std::uint64_t eval_every = 0;
  // The checkpoints of the last N epochs are kept as FILE.epoch1, FILE.epoch2, ... besides.
  std::uint64_t keep_last = 0;
  bool resume = false;            // fit() begins with resume()
  bool resume_if_exists = false;  // sets `resume` where has_checkpoint(checkpoint)
  bool overwrite = false;
  // Numbers fed to scalar inputs in every step.
  std::vector<std::pair<std::string, double>> constants = {};
  ArrayMap map = {};         // see Feeder
  bool stop_on_nan = false;  // stops even if on_nan says otherwise
  OnNan on_nan = OnNan::stop;
  // Metrics of validation and their class axis, as in EvaluateOptions.
  std::vector<std::string> metrics = {};
  std::optional<std::int64_t> class_axis = {};
  // A folder for records of the run (docs/metrics.md): TensorBoard event files, steps.csv,
  // epochs.csv and log.jsonl. fit() refuses a folder that has such records unless `resume` or
  // `overwrite` is set; a resumed run goes on from its step.
  std::filesystem::path log_dir = {};
  // A page of HTML about the run, written when it ends in whatever way.
  std::filesystem::path report = {};
  // Augmentation of the training rows only. A resumed run must have the same one.
  std::optional<Augmentation> augmentation = {};
  // Delta of the epsilon in reports, for models prepared with PrepareOptions::privacy; empty: the
  // largest power of ten that is not above 1 / rows. Batches of such a model are random samples:
  // each row is in a batch with probability batch size / rows, and an epoch is as many steps as
  // batches of that size would be. Error(mismatch) for other models, and with privacy for another
  // batch size than the model's, folds and mixup. With `seed` 0 such a run draws the seeds of
  // batches and noise from the operating system, unless it is resumed.
  std::optional<double> privacy_delta = {};
  // The ranks that train together (docs/cluster.md). Each has a Trainer with the same options, data
  // and model, makes the same calls, and gets the same state and reports; only rank 0 writes files,
  // which resuming reads on all of them. Its batches are divided into micro-shards. What fails on
  // one rank is thrown on all of them. Error(mismatch) for cross-validation.
  std::shared_ptr<Communicator> communicator = {};
  // The number of equal parts of a batch that gradients and statistics of a batch are computed of
  // one by one; a step takes the means over their rows. Bits follow from this number and not from
  // that of the ranks. The batch size must be divisible by it, and it by the number of ranks, with
  // a power of 2 as quotient unless there is one rank. Empty: 4 with ranks, or their number if that
  // is larger; without ranks batches stay whole. A resumed run must have the same number.
  std::optional<std::uint64_t> micro_shards = {};
  // One part of a batch for each rank, added up in the order that the communicator likes best: bits
  // depend on the number of ranks. Error(mismatch) without ranks and with `micro_shards`.
  bool fast_reduce = false;
  // The type of gradients on their way between ranks, with `fast_reduce`: float32, or bfloat16 for
  // half the bytes. A rank's gradients are rounded once and so is their sum, which is made in
  // float32. Error(mismatch) for other types, and for bfloat16 without `fast_reduce`.
  DType wire_dtype = DType::float32;
  // The statistics that BatchNormalization computes in training are those of the whole batch, not
  // of each micro-shard. Needs one micro-shard for each rank; Error(mismatch) for others and for a
  // model without such statistics.
  bool sync_batch_stats = false;
};

// After a step. Means weigh every step by its rows.
struct StepReport {
  std::uint64_t fold = 0;   // of cross-validation, from 1; 0: of the training itself
  std::uint64_t epoch = 0;  // from 1
  std::uint64_t epochs = 0;
  std::uint64_t step = 0;        // in the epoch, from 1
  std::uint64_t rows = 0;        // of the epoch that are done
  std::uint64_t epoch_rows = 0;  // of the whole epoch
  // Learning rate of this step, or of the latest update where gradients are accumulated by a model
  // with a schedule of its own; empty without a schedule and before such an update.
  std::optional<double> learning_rate = {};
  Metrics last;  // of this step
  Metrics mean;  // of the epoch so far
};

struct EpochReport {
  std::uint64_t fold = 0;   // of cross-validation, from 1; 0: of the training itself
  std::uint64_t epoch = 0;  // from 1
  std::uint64_t epochs = 0;
  // In the epoch, from 1, of an evaluation before its end (eval_every); 0: the epoch is done.
  std::uint64_t step = 0;
  std::uint64_t steps = 0;  // of the model since it was initialized
  std::uint64_t rows = 0;
  double seconds = 0;                             // of the steps in this process
  std::optional<double> learning_rate = {};       // of the last step; empty without a schedule
  Metrics training;                               // means over the epoch
  Metrics validation;                             // empty without validation data
  bool best = false;                              // early stopping's best state up to now
  std::optional<ConfusionMatrix> confusion = {};  // of the validation, where metrics ask for it
  // The part of `seconds` in which steps waited for rows that other threads decode or change; empty
  // where rows are read as they lie.
  std::optional<double> data_wait = {};
  // With privacy: what all steps of the run so far have spent, those before a resume included.
  std::optional<double> epsilon = {};
  std::optional<double> delta = {};
};
// "epoch 1/3: loss 0.25, validation loss 0.3, validation accuracy 0.88, 1.5 s"; with a schedule
// ", learning rate 0.01" before the time, and where the wait for data is known ", data wait 2 %" at
// the end; with privacy ", epsilon 1.5 at delta 1e-05" after that.
ONDINE_API std::ostream& operator<<(std::ostream& out, const EpochReport& report);

enum class StopReason : std::uint8_t {
  completed,       // all epochs
  early_stopping,  // no improvement
  time_limit,      // TrainerOptions::max_time
  step_limit,      // TrainerOptions::max_steps
  requested,       // request_stop(), or on_step's callback returned false
};
ONDINE_API const char* to_string(StopReason reason) noexcept;

// A fold of cross-validation.
struct FoldReport {
  std::uint64_t training_rows = 0;
  std::uint64_t rows = 0;        // of the fold
  std::uint64_t epochs = 0;      // completed
  std::uint64_t best_epoch = 0;  // as in FitReport
  Metrics metrics;               // of the fold, as Trainer::evaluate() computes them
};

struct FitReport {
  StopReason reason = StopReason::completed;
  std::uint64_t epochs = 0;               // completed, those before a resume included
  bool already_finished = false;          // the resumed run had nothing left to do
  std::uint64_t best_epoch = 0;           // of early stopping; 0: none
  std::uint64_t best_step = 0;            // in that epoch; 0: at its end
  std::optional<double> best_value = {};  // of its metric
  bool restored_best = false;             // the model's state is that of best_epoch
  std::optional<EpochReport> last = {};   // of the epochs of this call
  // Why records or the report are incomplete; empty when they are not. Training does not stop for
  // them.
  std::string record_note = {};
  // Reports of the folds of cross-validation, in their order; empty without it.
  std::vector<FoldReport> folds = {};
  Metrics fold_mean = {};       // over the folds
  Metrics fold_deviation = {};  // standard deviation, with one less than the folds as divisor
};
ONDINE_API std::ostream& operator<<(std::ostream& out, const FitReport& report);

struct EvaluateOptions {
  std::uint64_t batch_size = 256;
  ArrayMap map = {};
  std::string label = {};   // column of the labels; empty: see evaluate
  std::string output = {};  // of the main graph; empty: the first
  // Names of evaluation_metrics(); empty: those that evaluate() lists for the loss. All are over
  // the whole data set, never means over batches.
  std::vector<std::string> metrics = {};
  // The axis of the output that has one entry for each class, from the end if negative. Empty: the
  // one that the model's metadata records, else the only one whose removal leaves the shape of the
  // labels; Error(mismatch) where there are several.
  std::optional<std::int64_t> class_axis = {};
  // A label of classes that counts in no metric. Empty: the one that the model was prepared with,
  // or that of data for models of the next token (NextTokenOptions). Error(mismatch) where the
  // model was prepared with another one, and for labels that are no classes.
  std::optional<std::int64_t> ignore_index = {};
  // A page of HTML with the metrics, the confusion matrix, a table of the classes and the worst
  // errors, as pictures where an input takes images. Only for one class for each row.
  std::filesystem::path report = {};
};
// A row that was given another class than its label.
struct WrongPrediction {
  std::uint64_t row = 0;
  std::size_t label = 0;
  std::size_t predicted = 0;
  double label_probability = 0;
  double predicted_probability = 0;
};
struct Evaluation {
  Metrics metrics;
  std::uint64_t rows = 0;
  std::string note;                               // what had to be assumed; empty when nothing was
  std::optional<ConfusionMatrix> confusion = {};  // where metrics ask for it
  // With a report: those whose labels had the least probability, at most 24.
  std::vector<WrongPrediction> worst = {};
};
// Compares an output of the main graph with labels, by the loss that the model was prepared with
// (prepare.h):
// - softmax-cross-entropy: "accuracy", how often the largest entry along the class axis is the
// label
//   (the first of several);
// - bce: "accuracy", how often an element's sigmoid exceeds 0.5 where its label does. The output is
//   taken for logits if it is what the loss reads, else for probabilities;
// - mse, mae, huber: "mse" and "mae", means of squared and of absolute differences;
// - ctc: "cer", the edit distance of what the output spells, by the length of the labels.
// Of a model that does not say, integer labels are classes, or 0 and 1 where the output has one
// score a row, which is taken for a probability, and floating point labels are numbers; `note` says
// which. The labels are the input that only a training algorithm has, else the column named as the
// label it was prepared with, else the smallest column that no input takes. A last short batch is
// left out where the inputs ask for a fixed batch size. Const and concurrent like infer.
// Error(mismatch) where there are no labels, no rows, shapes that do not fit, and for a metric that
// does not exist or that the loss does not have.
ONDINE_API Evaluation evaluate(const Model& model, const Dataset& data,
                               const EvaluateOptions& options = {});

// Names of the classes in the order of the model's outputs, from its metadata; empty where it has
// none.
ONDINE_API std::vector<std::string> class_names(const Model& model);

// The learning rate schedule that the model was prepared with (PrepareOptions::schedule), for
// people to read; empty where it has none.
ONDINE_API std::string model_schedule(const Model& model);

// Gives every parameter the value of its running average (PrepareOptions::average); the state of
// the optimizer stays. Error(mismatch) for a model that keeps none.
ONDINE_API void take_averages(Model& model);

// Whether there is a checkpoint to resume: FILE, or FILE.prev alone.
ONDINE_API bool has_checkpoint(const std::filesystem::path& file);

// Error(io) unless the file could be created or replaced; leaves nothing behind.
ONDINE_API void require_writable(const std::filesystem::path& file);

// A metric that the caller computes over a data set. The functions run on the thread of the call,
// for each evaluation begin(), add() for every batch, and value().
struct OwnMetric {
  std::string name;
  std::function<void()> begin;  // starts over
  // The outputs below of one batch, in evaluation mode, and what was fed, labels included.
  std::function<void(const Results& outputs, std::span<const NamedValue> batch)> add;
  std::function<double()> value;
  // Names of outputs of the main graph or the algorithm; empty: the first of the main graph.
  std::vector<std::string> outputs = {};
};

// Trains a model, which must outlive it and which no one else may train meanwhile. The order of
// rows is a pure function of seed and epoch, so that a run that is stopped and resumed ends with
// the same bits as one that was not. For one thread at a time, but for request_stop().
class ONDINE_API Trainer {
 public:
  // Error(mismatch) for options that make no sense or an algorithm that the model does not have.
  Trainer(Model& model, TrainerOptions options);
  Trainer(Model&& model, TrainerOptions options) = delete;
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // Adds a callback for after each step, on the thread of fit(); false stops the run as
  // request_stop() does. All are called, in the order in which they were added. They may call const
  // methods of the model and set_learning_rate.
  void on_step(std::function<bool(const StepReport&)> callback);
  // Adds a callback for after each epoch, before its checkpoint is written.
  void on_epoch(std::function<void(const EpochReport&)> callback);
  // Adds a metric of validation data and of evaluate(), for reports and, as "val_NAME", for early
  // stopping and schedules. Error(mismatch) where a metric of that name is there already.
  void add_metric(OwnMetric metric);

  // Tries every file and folder that fit() writes, as it does itself at first. Error(io) for one
  // that cannot be written, Error(exists) for a checkpoint or records of another run that would be
  // replaced. Leaves nothing behind.
  void try_outputs() const;

  // Restores the checkpoint of the options; the next fit() continues from there. Error(mismatch)
  // for another batch size, split or metric of early stopping than it was written with.
  RestoreReport resume();

  // Trains on the training part until all epochs are done or something stops the run. After each
  // epoch it evaluates on the validation part as evaluate() does. When a step fails, the state of
  // the last good one is saved and the Error goes on; nothing is saved where a metric was not
  // finite (on_nan). What the data say (classes, columns, texts, sample rate, ...) goes into the
  // model's data record (data_record.h). Error(mismatch) where the record says otherwise, and where
  // a run resumes within an epoch of other rows; see recorded_options().
  FitReport fit(const Dataset& data);
  FitReport fit(const Dataset& training, const Dataset& validation);

  // How `data` differs from what the model was trained with before, one sentence each: the rows of
  // a run that is resumed at the start of an epoch, and the element types and scales of inputs.
  // fit() goes on with such data.
  std::vector<std::string> notes(const Dataset& data) const;

  // Means over the rows of the training part of `data`, by Model::eval_step: what the algorithm
  // computes without updates (loss, accuracy, ...), and the metrics of ondine::evaluate that are
  // not among it.
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
