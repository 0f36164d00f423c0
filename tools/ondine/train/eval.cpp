#include <iostream>

#include "ondine/command.h"
#include "ondine/train/evaluate.h"

namespace ondine::cli {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> data;
  std::vector<std::string> map;
  std::string label;
  std::string output;
  std::string checkpoint;
  std::uint64_t batch_size = 256;
  int threads = 1;
  bool as_json = false;
};

int run(const Options& options) {
  LoadOptions load;
  load.threads = options.threads;
  Model model = Model::load(options.model, load);
  if (!options.checkpoint.empty()) model.restore_checkpoint(options.checkpoint);
  DataSplits data = load_splits(to_paths(options.data));
  const NamedValues& arrays = data.validation.empty() ? data.train : data.validation;
  const ArrayMap map = parse_map(options.map);
  const auto label = find_label(model, arrays, map, options.label);
  if (!label)
    throw Error(ErrorCode::mismatch, "no array is left for the labels; name one: --label");
  Evaluator evaluator(model, arrays, map, *label, options.output);
  const Score score = *evaluator.run(model, options.batch_size, [] { return false; });
  if (options.as_json) {
    std::cout << nlohmann::json{{score.metric, score.value}, {"rows", score.rows}}.dump() << '\n';
  } else {
    std::cout << score.metric << ' ' << number(score.value) << " over " << score.rows << " rows\n";
  }
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(app, "eval",
                  "Accuracy (or squared error) of a model on data; the validation part if "
                  "there is "
                  "one",
                  "  ondine eval trained.onnx --data /usr/share/datasets/fashion-mnist\n"
                  "  ondine eval train.onnx --checkpoint run.ckpt --data x_test.npy "
                  "y_test.npy --label y\n");
  command->add_option("MODEL", options->model, "Model file")->required();
  command->add_option("--data", options->data, "Folder or files: IDX, .npy, .npz")->required();
  command->add_option("--map", options->map, "INPUT=ARRAY where names differ");
  command->add_option("--label", options->label, "Array of the labels");
  command->add_option("--model-output", options->output, "Output to compare; the first if absent");
  command->add_option("--checkpoint", options->checkpoint, "State to evaluate");
  command->add_option("--batch-size", options->batch_size, "Rows at once")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", options->threads, "Threads")->check(CLI::Range(1, 1024));
  command->add_flag("--json", options->as_json, "Print JSON");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace ondine::cli
