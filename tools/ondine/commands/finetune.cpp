#include <ondine/finetune.h>

#include <iostream>
#include <sstream>

#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/train/data_options.h"
#include "ondine/train/folds.h"
#include "ondine/train/interrupt.h"
#include "ondine/train/progress.h"

namespace ondine::cli {
namespace {

FinetuneOptions finetune_of(const CommandOptions& options) {
  FinetuneOptions tune =
      finetune_options(options.of(OptionGroup::finetune), OptionSpelling::dashes);
  tune.output = options.text("output");
  tune.data = plain_dataset_options(data_of(options));
  if (options.has("validation-data")) tune.validation = to_paths(options.texts("validation-data"));
  tune.load = load_of(options);
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

int run_finetune(const CommandOptions& options) {
  FinetuneOptions tune = finetune_of(options);
  note_precision(tune.load);
  Progress progress(options.has("quiet"));
  watch(tune, progress);
  const InterruptGuard guard;
  const FinetuneModel model =
      options.has("model") ? FinetuneModel(options.text("model")) : FinetuneModel();
  const FinetuneReport report = finetune(model, to_paths(options.texts("data")), tune);
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
  parser.add(
      "finetune", "Tune a model, or a new network, for data in one go",
      "  ondine finetune net.onnx --data photos/ -o tuned.onnx\n"
      "  ondine finetune --data table.csv --target price -o prices.onnx --report report.html\n"
      "  ondine finetune net.onnx --data texts.jsonl --epochs 3 --learning-rate 0.001 -o t.onnx\n",
      run_finetune);
}

}  // namespace ondine::cli
