#include <ondine/finetune.h>

#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/data_choices.h"
#include "ondine/train/folds.h"
#include "ondine/train/interrupt.h"
#include "ondine/train/progress.h"

namespace ondine::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  DataOptions data;
  std::vector<std::string> validation_data;
  std::optional<float> validation_split;
  OptionValues preprocess;
  OptionValues training;  // of the table
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
  const std::map<std::string, std::optional<bool>> refits{
      {"auto", {}}, {"always", true}, {"never", false}};
  command.choice("--refit", &tune.refit, refits,
                 "After evaluation, train once more on all rows, validation rows included: "
                 "auto (the default: with few rows), always, or never");
  command.table(OptionGroup::prepare, options.preprocess, {"preprocess"});
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
  command.table(OptionGroup::train, options.training,
                {"augment", "map", "metrics", "max-time", "folds", "eval-every", "checkpoint",
                 "resume", "overwrite", "log-dir", "report"});
  command.find("--folds")
      .excludes(command.find("--validation-data"))
      .excludes(command.find("--validation-split"));
  command.option("--freeze", &tune.prepare.freeze,
                 "Do not train parameters that match this pattern");
  command.option("--last-layers", &tune.prepare.last_layers, "Train only the last N layers");
  command.option("--quiet", &options.quiet, "Print errors and warnings only");
  add_load_options(command, tune.load);
  add_seed(command, tune.load);
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
    for (const auto& [name, text] : options.preprocess) {
      tune.preprocess->push_back(preprocess_from_text(text, OptionSpelling::dashes));
    }
  }
  tune.trainer = trainer_options(options.training, {}, OptionSpelling::dashes);
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
    const std::string fold = step.fold == 0 ? "" : "fold " + std::to_string(step.fold) + ", ";
    progress.update(
        fold + "epoch " + std::to_string(step.epoch) + "/" + std::to_string(step.epochs), step.rows,
        step.epoch_rows, status.str());
    return !InterruptGuard::requested();
  };
  tune.on_epoch = [&progress](const EpochReport& epoch) {
    std::ostringstream line;
    line << epoch;
    progress.line(line.str());
  };
}

int interrupted(const TrainerOptions& trainer) {
  std::cerr << "ondine: interrupted; nothing was exported";
  if (!trainer.checkpoint.empty()) {
    std::cerr << "; saved to '" << trainer.checkpoint.string() << "', go on with --resume";
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
  if (report.fit.reason == StopReason::requested) return interrupted(tune.trainer);
  print_folds(report.fit, progress);
  std::ostringstream text;
  text << report.fit;
  progress.line(text.str());
  text.str("");
  text << report;
  progress.line(text.str());
  const TrainerOptions& trainer = tune.trainer;
  if (!trainer.report.empty()) progress.line("report: " + trainer.report.string());
  if (!trainer.checkpoint.empty()) progress.line("checkpoint: " + trainer.checkpoint.string());
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
  options->data.cache_bytes = {};
  add_data_options(command, options->data, options->tune.load.deadline);
  command.option("-o,--output", &options->output, "Tuned inference model to write").required();
  add_choices(command, *options);
  add_running(command, *options);
  command.takes_job_file("finetune");
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli
