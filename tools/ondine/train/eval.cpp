#include <iostream>
#include <nlohmann/json.hpp>

#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/take_checkpoint.h"
#include "ondine/train/data_options.h"
#include "ondine/train/metric_names.h"
#include "ondine/train/print_matrix.h"

namespace ondine::cli {
namespace {

struct Options {
  std::string model;
  DataOptions data;
  std::vector<std::string> map;
  std::string label;
  std::string output;
  std::string checkpoint;
  std::uint64_t batch_size = 256;
  std::vector<std::string> metrics;
  std::optional<std::int64_t> class_axis;
  bool as_json = false;
  bool averaged = false;
  std::string report;
  LoadOptions load;
};

// What --map may name: inputs of the model and of its training algorithms, one of which the scores
// may come from.
std::vector<PortInfo> eval_inputs(const Model& model) {
  std::vector<PortInfo> inputs = model.inputs();
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    const auto more = extra_inputs(model, i);
    inputs.insert(inputs.end(), more.begin(), more.end());
  }
  return inputs;
}

int run(const Options& options) {
  Model model = Model::load(options.model, options.load);
  print_warnings(model);
  if (!options.checkpoint.empty()) take_checkpoint(model, options.checkpoint);
  if (options.averaged) take_averages(model);
  const Dataset data = open_dataset(options.data.data, options.data, model, DataUse::evaluation);
  EvaluateOptions evaluate_options;
  evaluate_options.batch_size = options.batch_size;
  evaluate_options.map = parse_map(options.map, eval_inputs(model));
  evaluate_options.label = options.label;
  evaluate_options.output = options.output;
  evaluate_options.metrics = split_names(options.metrics);
  evaluate_options.class_axis = options.class_axis;
  evaluate_options.report = options.report;
  const Dataset evaluated = data.has_validation() ? data.validation() : data;
  print_skipped(evaluated);
  const Evaluation score = evaluate(model, evaluated, evaluate_options);
  if (!score.note.empty()) std::cerr << "note: " << score.note << '\n';
  if (options.as_json) {
    nlohmann::json record{{"rows", score.rows}};
    for (const auto& [metric, value] : score.metrics) record[metric] = value;
    if (score.confusion) {
      record["confusion_matrix"] = matrix_json(*score.confusion);
      if (!score.confusion->names.empty()) record["classes"] = score.confusion->names;
    }
    std::cout << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    for (const auto& [metric, value] : score.metrics) {
      std::cout << printable(metric) << ' ' << number(value) << " over " << score.rows << " rows\n";
    }
    if (score.confusion) print_matrix(std::cout, *score.confusion);
  }
  return 0;
}

}  // namespace

void add_eval(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.add(
      "eval",
      "Compute accuracy, or squared and absolute error, or the metrics asked for, on data (its "
      "validation part if it has one)",
      "  ondine eval trained.onnx --data /usr/share/datasets/fashion-mnist\n"
      "  ondine eval train.onnx --checkpoint run.ckpt --data x_test.npy "
      "y_test.npy --label y\n"
      "  ondine eval trained.onnx --data photos --metrics accuracy,top5,f1,confusion_matrix\n");
  command.option("MODEL", &options->model, "Model file").required();
  add_data_options(command, options->data, options->load.deadline).required();
  command.option("--map", &options->map,
                 "INPUT=ARRAY, for arrays named differently from the input");
  command.option("--label", &options->label, "Array of the labels");
  command.option("--model-output", &options->output, "Output to compare; the first if absent");
  command
      .option("--metrics", &options->metrics,
              "NAME,NAME,...: accuracy, topK, f1, roc_auc, confusion_matrix, r2, ... "
              "(docs/metrics.md); those of the loss if absent")
      .one_each();
  command.option(
      "--class-axis", &options->class_axis,
      "Axis of the output with an entry for each class, where the model does not say it");
  command.option("--checkpoint", &options->checkpoint, "Checkpoint whose state to use");
  command.option("--report", &options->report,
                 "Page of HTML with metrics, confusion matrix, classes and the worst errors");
  command.option("--averaged", &options->averaged, "Use the averages of the parameters");
  command.option("--batch-size", &options->batch_size, "Rows per batch").positive();
  command.option("--threads", &options->load.threads, "Threads").between(1, 1024);
  add_deadline(command, options->load.deadline);
  add_operator_sets(command, options->load.operator_sets);
  command.option("--json", &options->as_json, "Print JSON");
  command.takes_job_file();
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli
