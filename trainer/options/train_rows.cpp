// TrainerOptions and EvaluateOptions.
#include <ondine/error.h>

#include "trainer/options/groups.h"
#include "trainer/options/parse.h"
#include "trainer/options/schedule_rows.h"
#include "trainer/options/settings.h"

namespace ondine::options {
namespace {

using Train = Rows<TrainTarget>;

constexpr const char* map_help = "INPUT=ARRAY, for arrays named differently from the input";
constexpr const char* metrics_help =
    "NAME,NAME,...: accuracy, topK, f1, roc_auc, confusion_matrix, r2, ... (docs/metrics.md); "
    "those of the loss if absent";
constexpr const char* class_axis_help =
    "Axis of the output with an entry for each class, if the model does not say it";

template <class Target>
void set_map(Target& to, const Given& given) {
  for (const std::string& text : given.texts()) {
    to.options.map.push_back(name_and_value(text, given.option(), to.inputs));
  }
}

void set_constants(TrainTarget& to, const Given& given) {
  for (const std::string& text : given.texts()) {
    const auto [name, value] = name_and_value(text, given.option(), to.inputs);
    const std::optional<double> parsed = number(value);
    if (!parsed) refuse(given.option(), "a number", value);
    to.options.constants.emplace_back(name, *parsed);
  }
}

void add_run(Train& rows) {
  rows.heading("Run");
  rows.integer("epochs", "N", "Passes over the data",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.epochs = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .by_default("1")
      .letter('e');
  rows.integer("batch-size", "N", "Rows per step",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.batch_size = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .by_default("32")
      .letter('b');
  rows.real("learning-rate", "RATE", "Learning rate in place of the model's own",
            [](TrainTarget& to, double value) {
              to.options.learning_rate = static_cast<float>(value);
            })
      .letter('r');
  rows.real("validation-split", "FRACTION", "Fraction of the training rows to evaluate on",
            [](TrainTarget& to, double value) { to.options.validation_split = value; })
      .above(0)
      .below(1);
  rows.integer("folds", "K",
               "Cross-validation: train and evaluate on K folds, then train on all rows",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.folds = static_cast<std::uint64_t>(value);
               })
      .from(2)
      .excludes("validation-split")
      .excludes("max-time")
      .excludes("resume")
      .excludes("resume-if-exists");
  rows.integer("eval-every", "STEPS",
               "Also evaluate on the validation data after every N steps; the patience counts "
               "evaluations then",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.eval_every = static_cast<std::uint64_t>(value);
               })
      .from(1);
  rows.text("augment", "SETTINGS",
            "Random changes of training images: flip, flip-vertical, crop=PIXELS, rotate=DEGREES, "
            "scale=LOW:HIGH, color=STRENGTH, cutout=PIXELS, mixup=ALPHA; of recordings: "
            "time-shift=SECONDS, noise=LEVEL, mixup=ALPHA; with commas between them",
            [](TrainTarget& to, const Given& given) {
              to.options.augmentation = parse_augmentation(given.text(), given.option());
            });
  rows.duration(
      "max-time", "Stop after this time",
      [](TrainTarget& to, std::chrono::milliseconds value) { to.options.max_time = value; });
  rows.integer("max-steps", "N", "Stop after this many steps, those before a resume included",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.max_steps = static_cast<std::uint64_t>(value);
               })
      .from(1);
  rows.integer("accumulate", "N",
               "Batches for an update, of a model prepared with accumulate, in place of its own "
               "number",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.accumulate = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .rare();
  rows.real("dp-delta", "DELTA",
            "Delta of the epsilon that is reported of a model prepared with dp-clip; the largest "
            "power of ten up to 1 / rows if absent",
            [](TrainTarget& to, double value) { to.options.privacy_delta = value; })
      .above(0)
      .below(1);
  rows.integer("algorithm", "INDEX", "Index of the training algorithm",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.algorithm = static_cast<std::size_t>(value);
               })
      .from(0)
      .by_default("0")
      .rare();
  rows.text("map", "INPUT=ARRAY", map_help, set_map<TrainTarget>).several();
  rows.text("set", "INPUT=NUMBER", "Number fed to an input in every step", set_constants)
      .several()
      .rare();
}

void add_stopping(Train& rows) {
  const auto stopping = [](TrainTarget& to) -> EarlyStopping& {
    if (!to.options.early_stopping) to.options.early_stopping.emplace();
    return *to.options.early_stopping;
  };
  rows.heading("Early stopping");
  rows.integer("patience", "EPOCHS", "Stop after this many epochs without improvement",
               [stopping](TrainTarget& to, std::int64_t value) {
                 stopping(to).patience = static_cast<std::uint64_t>(value);
               })
      .from(1);
  rows.text("monitor", "METRIC", "Metric that must improve: val_loss, val_accuracy, loss, ...",
            [stopping](TrainTarget& to, const Given& given) { stopping(to).metric = given.text(); })
      .by_default("val_loss")
      .needs({"patience"});
  rows.real("min-delta", "NUMBER", "Improvements up to this size do not count",
            [stopping](TrainTarget& to, double value) { stopping(to).min_delta = value; })
      .by_default("0")
      .needs({"patience"});
}

void add_checkpoints(Train& rows) {
  rows.heading("Checkpoints");
  rows.text("checkpoint", "FILE",
            "Saved after each epoch and when stopped; FILE.best keeps the best epoch",
            [](TrainTarget& to, const Given& given) { to.options.checkpoint = given.text(); })
      .letter('c');
  rows.integer("checkpoint-every", "STEPS", "Also save after every N steps",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.checkpoint_every = static_cast<std::uint64_t>(value);
               })
      .from(0)
      .needs({"checkpoint"});
  rows.integer("keep-last", "N",
               "Also keep the checkpoints of the last N epochs, as FILE.epoch1, ...",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.keep_last = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .needs({"checkpoint"});
  rows.flag("resume", "Continue from the checkpoint",
            [](TrainTarget& to, bool value) { to.options.resume = value; })
      .needs({"checkpoint"});
  rows.flag("resume-if-exists", "Continue from the checkpoint if there is one, else start anew",
            [](TrainTarget& to, bool value) { to.options.resume_if_exists = value; })
      .needs({"checkpoint"})
      .excludes("resume");
  rows.flag("overwrite", "Replace an existing checkpoint, and records in the log folder",
            [](TrainTarget& to, bool value) { to.options.overwrite = value; })
      .excludes("resume")
      .excludes("resume-if-exists");
  rows.flag("averaged", "Evaluate with, and export, the averages of the parameters",
            [](TrainTarget& to, bool value) { to.options.averaged = value; });
}

void add_ranks(Train& rows) {
  rows.heading("Several processes (mpirun)");
  rows.integer("micro-shards", "N",
               "Compute each batch in N equal parts and take the means, with the same bits for any "
               "number of processes; 4 under mpirun if absent",
               [](TrainTarget& to, std::int64_t value) {
                 to.options.micro_shards = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .excludes("folds");
  rows.flag("fast-reduce",
            "One part of a batch for each process and sums in any order: faster, but bits depend "
            "on the number of processes",
            [](TrainTarget& to, bool value) { to.options.fast_reduce = value; })
      .excludes("micro-shards")
      .excludes("folds");
  rows.choice<DType>("wire-dtype", {{"float32", DType::float32}, {"bfloat16", DType::bfloat16}},
                     "Type of gradients between processes: bfloat16 halves the bytes",
                     [](TrainTarget& to, DType value) { to.options.wire_dtype = value; })
      .synonym("bf16", "bfloat16")
      .by_default("float32")
      .needs({"fast-reduce"});
  rows.flag("sync-batch-stats",
            "Statistics of BatchNormalization over the whole batch, with one part of it for each "
            "process",
            [](TrainTarget& to, bool value) { to.options.sync_batch_stats = value; })
      .excludes("folds");
}

void add_records(Train& rows) {
  rows.heading("Evaluation and records");
  rows.text("metrics", "NAMES", std::string("Metrics of the validation: ") + metrics_help,
            [](TrainTarget& to, const Given& given) { to.options.metrics = names_in(given); })
      .repeats();
  rows.integer("class-axis", "AXIS", class_axis_help,
               [](TrainTarget& to, std::int64_t value) { to.options.class_axis = value; })
      .rare();
  rows.choice<OnNan>("on-nan", {{"stop", OnNan::stop}, {"continue", OnNan::proceed}},
                     "When a metric of a step is not finite: stop, naming the first tensor that "
                     "is not, or continue",
                     [](TrainTarget& to, OnNan value) { to.options.on_nan = value; })
      .by_default("stop");
  rows.flag("stop-on-nan", "The same as on-nan stop",
            [](TrainTarget& to, bool value) { to.options.stop_on_nan = value; })
      .excludes("on-nan")
      .rare();
  rows.text("log-dir", "FOLDER",
            "Folder for TensorBoard event files, steps.csv, epochs.csv and log.jsonl",
            [](TrainTarget& to, const Given& given) { to.options.log_dir = given.text(); });
  rows.text("report", "FILE", "Page of HTML with curves, worst errors and summary",
            [](TrainTarget& to, const Given& given) { to.options.report = given.text(); });
}

Train make_train_rows() {
  Train rows(OptionGroup::train);
  add_run(rows);
  rows.heading("Learning rate schedule");
  add_schedule(rows, true, [](TrainTarget& to) -> Schedule& { return to.options.schedule; });
  add_stopping(rows);
  add_checkpoints(rows);
  add_ranks(rows);
  add_records(rows);
  return rows;
}

Rows<EvaluateTarget> make_evaluate_rows() {
  Rows<EvaluateTarget> rows(OptionGroup::evaluate);
  rows.heading("Evaluation");
  rows.text("metrics", "NAMES", metrics_help,
            [](EvaluateTarget& to, const Given& given) { to.options.metrics = names_in(given); })
      .repeats();
  rows.text("label", "NAME", "Array of the labels",
            [](EvaluateTarget& to, const Given& given) { to.options.label = given.text(); });
  rows.text("model-output", "NAME", "Output to compare; the one that was trained if absent",
            [](EvaluateTarget& to, const Given& given) { to.options.output = given.text(); });
  rows.integer("batch-size", "N", "Rows per batch",
               [](EvaluateTarget& to, std::int64_t value) {
                 to.options.batch_size = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .by_default("256");
  rows.text("map", "INPUT=ARRAY", map_help, set_map<EvaluateTarget>).several();
  rows.text("report", "FILE",
            "Page of HTML with metrics, confusion matrix, classes and the worst errors",
            [](EvaluateTarget& to, const Given& given) { to.options.report = given.text(); });
  rows.integer("ignore-index", "LABEL",
               "Label that counts in no metric; that of the training if absent",
               [](EvaluateTarget& to, std::int64_t value) { to.options.ignore_index = value; });
  rows.integer("class-axis", "AXIS", class_axis_help,
               [](EvaluateTarget& to, std::int64_t value) { to.options.class_axis = value; })
      .rare();
  return rows;
}

}  // namespace

std::vector<std::string> names_in(const Given& given) {
  std::vector<std::string> names;
  for (const std::string& list : given.texts()) {
    for (std::string& name : split(list, ',')) {
      if (name.empty()) refuse(given.option(), "NAME,NAME,...", list);
      names.push_back(std::move(name));
    }
  }
  return names;
}

const Rows<TrainTarget>& train_rows() {
  static const Train rows = make_train_rows();
  return rows;
}

const Rows<EvaluateTarget>& evaluate_rows() {
  static const Rows<EvaluateTarget> rows = make_evaluate_rows();
  return rows;
}

}  // namespace ondine::options
