#include <ondine/finetune.h>

#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/data_choices.h"
#include "ondine/settings.h"
#include "ondine/train/duration.h"
#include "ondine/train/interrupt.h"
#include "ondine/train/metric_names.h"
#include "ondine/train/progress.h"

namespace ondine::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  DataOptions data;
  std::vector<std::string> validation_data;
  std::optional<float> validation_split;
  std::vector<std::string> map;
  std::vector<std::string> preprocess;
  std::vector<std::string> metrics;
  std::string augment;
  std::string max_time;
  std::string checkpoint;
  std::string log_dir;
  std::string report;
  bool quiet = false;
  FinetuneOptions tune;
};

void add_choices(Command command, Options& options) {
  FinetuneOptions& tune = options.tune;
  const std::map<std::string, HeadChoice> heads{
      {"auto", HeadChoice::automatic}, {"keep", HeadChoice::keep}, {"new", HeadChoice::replace}};
  command.choice("--head", &tune.head, heads,
                 "The network's last layer: auto (the default) replaces it where it does not fit "
                 "the targets, keep, or new");
  add_target_kind(command, tune.targets);
  const std::map<std::string, std::optional<NetworkKind>> networks{{"mlp", NetworkKind::mlp},
                                                                   {"cnn", NetworkKind::cnn},
                                                                   {"unet", NetworkKind::unet},
                                                                   {"text", NetworkKind::text},
                                                                   {"audio", NetworkKind::audio}};
  command.choice("--network", &tune.network, networks,
                 "Without MODEL: kind of the new network; the data decide if absent");
  command
      .option("--preprocess", &options.preprocess,
              "As of prepare; if absent what the model says, else scales of the training rows or "
              "of ImageNet")
      .one_each();
  command.option("--epochs", &tune.epochs, "Passes over the data at most").positive();
  command.option("--batch-size", &tune.batch_size, "Rows per step").positive();
  command.option("--learning-rate", &tune.learning_rate, "Learning rate");
  command.option("--patience", &tune.patience,
                 "Stop after this many epochs without improvement; 0: never");
  Option data = command.option("--validation-data", &options.validation_data,
                               "Folder or files to evaluate on");
  command
      .option("--validation-split", &options.validation_split,
              "Fraction of the training rows to evaluate on instead")
      .excludes(data);
}

void add_running(Command command, Options& options) {
  FinetuneOptions& tune = options.tune;
  command.option("--augment", &options.augment, "Random changes of training rows, as of train");
  command.option("--map", &options.map, "INPUT=ARRAY, for arrays named differently from the input");
  command
      .option("--metrics", &options.metrics,
              "NAME,NAME,... of the validation; the targets decide if absent")
      .one_each();
  command.option("--freeze", &tune.prepare.freeze,
                 "Do not train parameters that match this pattern");
  command.option("--last-layers", &tune.prepare.last_layers, "Train only the last N layers");
  command.option("--max-time", &options.max_time, "Stop after this time: 90s, 10m, 1.5h");
  Option checkpoint = command.option("--checkpoint", &options.checkpoint,
                                     "Saved after each epoch and when stopped");
  Option resume = command.option("--resume", &tune.trainer.resume, "Continue from the checkpoint");
  resume.needs(checkpoint);
  command
      .option("--overwrite", &tune.trainer.overwrite,
              "Replace an existing checkpoint, and records in --log-dir")
      .excludes(resume);
  command.option("--log-dir", &options.log_dir,
                 "Folder for TensorBoard event files, steps.csv, epochs.csv and log.jsonl");
  command.option("--report", &options.report,
                 "Page of HTML with curves, worst errors and summary, written at the end");
  command.option("--quiet", &options.quiet, "Print errors and warnings only");
  add_load_options(command, tune.load);
  command.option("--seed", &tune.load.seed, "Seed of weights, split and order");
}

FinetuneOptions completed(const Options& options) {
  FinetuneOptions tune = options.tune;
  tune.output = options.output;
  tune.data = plain_dataset_options(options.data);
  if (!options.validation_data.empty()) tune.validation = to_paths(options.validation_data);
  if (options.validation_split) {
    tune.validation_split = static_cast<double>(*options.validation_split);
  }
  if (!options.preprocess.empty()) {
    tune.preprocess.emplace();
    for (const std::string& text : options.preprocess) {
      tune.preprocess->push_back(parse_preprocess(text));
    }
  }
  TrainerOptions& trainer = tune.trainer;
  trainer.metrics = split_names(options.metrics);
  trainer.map = parse_map(options.map, {});
  if (!options.augment.empty()) trainer.augmentation = parse_augmentation(options.augment);
  if (!options.max_time.empty()) {
    trainer.max_time = parse_duration(options.max_time, "--max-time");
  }
  trainer.checkpoint = options.checkpoint;
  trainer.log_dir = options.log_dir;
  trainer.report = options.report;
  return tune;
}

// Prints what a run does, and lets signals end it.
void watch(FinetuneOptions& tune, Progress& progress) {
  tune.on_assumed = [&progress](std::span<const std::string> assumed) {
    for (const std::string& line : assumed) progress.line("assumed: " + printable(line));
  };
  tune.on_step = [&progress](const StepReport& step) {
    std::ostringstream status;
    status << step.mean;
    progress.update("epoch " + std::to_string(step.epoch) + "/" + std::to_string(step.epochs),
                    step.rows, step.epoch_rows, status.str());
    return !InterruptGuard::requested();
  };
  tune.on_epoch = [&progress](const EpochReport& epoch) {
    std::ostringstream line;
    line << epoch;
    progress.line(line.str());
  };
}

int interrupted(const Options& options) {
  std::cerr << "ondine: interrupted; nothing was exported";
  if (!options.checkpoint.empty()) {
    std::cerr << "; saved to '" << options.checkpoint << "', go on with --resume";
  }
  std::cerr << '\n';
  return InterruptGuard::exit_code();
}

int run(const Options& options) {
  if (options.data.data.empty()) throw WrongUsage("finetune needs --data");
  note_precision(options.tune.load);
  FinetuneOptions tune = completed(options);
  Progress progress(options.quiet);
  watch(tune, progress);
  const InterruptGuard guard;
  const FinetuneModel model =
      options.model.empty() ? FinetuneModel() : FinetuneModel(options.model);
  const FinetuneReport report = finetune(model, to_paths(options.data.data), tune);
  for (const std::string& note : report.notes) std::cerr << "note: " << printable(note) << '\n';
  if (report.fit.reason == StopReason::requested) return interrupted(options);
  std::ostringstream text;
  text << report.fit;
  progress.line(text.str());
  text.str("");
  text << report;
  progress.line(text.str());
  if (!options.report.empty()) progress.line("report: " + options.report);
  if (!options.checkpoint.empty()) progress.line("checkpoint: " + options.checkpoint);
  return 0;
}

}  // namespace

void add_finetune(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.add(
      "finetune", "Tune a model, or a new network, for data in one go",
      "  ondine finetune net.onnx --data photos/ -o tuned.onnx\n"
      "  ondine finetune --data table.csv --target price -o prices.onnx --report report.html\n"
      "  ondine finetune net.onnx --data texts.jsonl --epochs 3 --learning-rate 0.001 -o t.onnx\n");
  command.option("MODEL", &options->model,
                 "Inference model; if absent a new network (see the command new)");
  add_data_options(command, options->data, options->tune.load.deadline);
  command.option("-o,--output", &options->output, "Tuned inference model to write").required();
  add_choices(command, *options);
  add_running(command, *options);
  command.takes_job_file();
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli
