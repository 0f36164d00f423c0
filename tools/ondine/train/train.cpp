#include <ondine/error.h>

#include "ondine/command.h"
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

void add_start(Command command, TrainOptions& options) {
  command.heading("Start and result");
  command.option("--initialize", &options.initialize,
                 "Start from the model's initialization instead of its initializers");
  command.option("--weights", &options.weights, "Weights to start from, in .safetensors")
      .excludes(command.find("--resume"));
  command.option("-o,--output", &options.output,
                 "Trained inference model to write, or its weights as .safetensors");
  command.option("--metrics-file", &options.metrics_file,
                 "File for one line of JSON with the metrics of each epoch");
  command.option("--quiet", &options.quiet, "Print errors and warnings only");
  Option dry_run =
      command.option("--dry-run", &options.dry_run,
                     "Try every output, print data, plan, memory and the time of three steps, and "
                     "write nothing");
  dry_run.excludes(command.find("--resume")).excludes(command.find("--resume-if-exists"));
  dry_run.excludes(command.find("--folds"));
  command
      .option("--seeds", &options.seeds,
              "Train with N seeds from --seed on and print mean and standard deviation of the "
              "metrics; writes no files")
      .positive()
      .excludes(dry_run)
      .excludes(command.find("--folds"));
}

int run(TrainOptions options) {
  take_metrics_file(options);
  require_data(options.data);
  if (options.data.data.empty() && !options.validation_data.empty()) {
    throw WrongUsage("--validation-data needs --data");
  }
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
  auto options = std::make_shared<TrainOptions>();
  Command command = parser.add("train", "Train a model on data",
                               "  ondine train train.onnx --data "
                               "/usr/share/datasets/fashion-mnist --epochs 3 \\\n"
                               "      --batch-size 64 --initialize --checkpoint run.ckpt -o "
                               "trained.onnx\n"
                               "  ondine train train.onnx --data x_train.npy y_train.npy "
                               "--map image=x --map label=y \\\n"
                               "      --epochs 10 --batch-size 32 -o trained.onnx\n"
                               "  ondine train train.onnx --data data.npz --epochs 20 "
                               "--batch-size 32 \\\n"
                               "      --checkpoint run.ckpt --resume\n");
  command.option("MODEL", &options->model, "Training model").required();
  options->data.cache_bytes = {};
  command.heading("Data");
  add_data_options(command, options->data, options->load.deadline);
  command.option("--validation-data", &options->validation_data,
                 "Folder or files to evaluate on after each epoch");
  command.table(OptionGroup::train, options->values);
  command.find("--validation-split").excludes(command.find("--validation-data"));
  command.find("--folds").excludes(command.find("--validation-data"));
  add_start(command, *options);
  add_load_options(command, options->load);
  add_seed(command, options->load);
  command.takes_job_file("train");
  options->job_text = [command] { return command.job_text(true); };
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli
