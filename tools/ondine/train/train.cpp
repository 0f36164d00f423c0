#include <ondine/error.h>

#include "ondine/command.h"
#include "ondine/job_file.h"
#include "ondine/train/ranks.h"
#include "ondine/train/seeds.h"
#include "ondine/train/train_run.h"

namespace ondine::cli {
namespace {

// Former spelling: among --metrics a name with a '.' or '/' is the file of --metrics-file.
void take_metrics_file(TrainOptions& options) {
  std::vector<std::string> files;
  std::erase_if(options.values, [&](const auto& value) {
    const bool is_file =
        value.first == "metrics" && value.second.find_first_of("./") != std::string::npos;
    if (is_file) files.push_back(value.second);
    return is_file;
  });
  if (!options.metrics_file.empty()) files.push_back(options.metrics_file);
  if (files.size() > 1) throw WrongUsage("--metrics and --metrics-file name two files");
  if (!files.empty()) options.metrics_file = files[0];
}

void use_ranks(const std::shared_ptr<Communicator>& ranks, TrainOptions& options) {
  if (options.dry_run || options.seeds > 1) {
    throw WrongUsage(std::string(options.dry_run ? "--dry-run" : "--seeds") +
                     " is for one process: leave out mpirun");
  }
  options.communicator = ranks;
  if (ranks->rank() == 0) return;
  options.output.clear();
  options.metrics_file.clear();
  options.quiet = true;
}

TrainOptions train_of(const CommandOptions& options) {
  TrainOptions result;
  result.model = options.text("model");
  result.data = data_of(options);
  result.validation_data = options.texts("validation-data");
  result.load = load_of(options);
  result.values = options.of(OptionGroup::train);
  result.weights = options.text("weights");
  result.output = options.text("output");
  result.initialize = options.has("initialize");
  result.metrics_file = options.text("metrics-file");
  result.seeds = options.count("seeds");
  result.job_text = job_text(options, true);
  result.dry_run = options.has("dry-run");
  result.quiet = options.has("quiet");
  return result;
}

int run_train(const CommandOptions& given) {
  TrainOptions options = train_of(given);
  take_metrics_file(options);
  note_precision(options.load);
  return run_on_ranks([&](const std::shared_ptr<Communicator>& ranks) {
    if (ranks) use_ranks(ranks, options);
    if (options.seeds > 1) return train_seeds(options, options.seeds);
    TrainRun run(options);
    return options.dry_run ? run.dry_run() : run.run();
  });
}

}  // namespace

void add_train(Parser& parser) {
  parser.add("train", "Train a model on data",
             "  ondine train train.onnx --data "
             "/usr/share/datasets/fashion-mnist --epochs 3 \\\n"
             "      --batch-size 64 --initialize --checkpoint run.ckpt -o "
             "trained.onnx\n"
             "  ondine train train.onnx --data x_train.npy y_train.npy "
             "--map image=x --map label=y \\\n"
             "      --epochs 10 --batch-size 32 -o trained.onnx\n"
             "  ondine train train.onnx --data data.npz --epochs 20 "
             "--batch-size 32 \\\n"
             "      --checkpoint run.ckpt --resume\n",
             run_train);
}

}  // namespace ondine::cli
