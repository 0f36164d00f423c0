#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include <ondine/data_record.h>
#include <ondine/options.h>
#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/take_checkpoint.h"
#include "ondine/train/data_options.h"
#include "ondine/train/print_matrix.h"

namespace ondine::cli {
namespace {

struct Options {
  std::string model;
  DataOptions data;
  OptionValues values;  // of the table
  std::string checkpoint;
  bool as_json = false;
  bool averaged = false;
  LoadOptions load;
};

// Inputs that --map may name: those of the model and of its training algorithms, as the scores may
// come from one of these.
std::vector<PortInfo> eval_inputs(const Model& model) {
  std::vector<PortInfo> inputs = model.inputs();
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    const auto more = extra_inputs(model, i);
    inputs.insert(inputs.end(), more.begin(), more.end());
  }
  return inputs;
}

// Texts and tables have one column of labels, which --label may name.
void name_target(const Model& model, Options& options) {
  const auto label = std::find_if(options.values.begin(), options.values.end(),
                                  [](const auto& value) { return value.first == "label"; });
  OptionValues& reading = options.data.values;
  const bool has_target = std::any_of(reading.begin(), reading.end(),
                                      [](const auto& value) { return value.first == "target"; });
  if (label == options.values.end() || has_target) return;
  if (recorded_options(model, DataUse::evaluation).target.empty()) return;
  reading.emplace_back("target", label->second);
}

int run(Options& options) {
  Model model = Model::load(options.model, options.load);
  print_warnings(model);
  if (!options.checkpoint.empty()) take_checkpoint(model, options.checkpoint);
  if (options.averaged) take_averages(model);
  name_target(model, options);
  const Dataset data = open_dataset(options.data.data, options.data, model, DataUse::evaluation);
  const EvaluateOptions how =
      evaluate_options(options.values, eval_inputs(model), OptionSpelling::dashes);
  const Dataset evaluated = data.has_validation() ? data.validation() : data;
  print_skipped(evaluated);
  const Evaluation score = evaluate(model, evaluated, how);
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
      "eval", "Compute metrics on data, on its validation part if it has one",
      "  ondine eval trained.onnx --data /usr/share/datasets/fashion-mnist\n"
      "  ondine eval train.onnx --checkpoint run.ckpt --data x_test.npy "
      "y_test.npy --label y\n"
      "  ondine eval trained.onnx --data photos --metrics accuracy,top5,f1,confusion_matrix\n");
  command.option("MODEL", &options->model, "Model file").required();
  add_data_options(command, options->data, options->load.deadline).required();
  command.table(OptionGroup::evaluate, options->values);
  command.option("--checkpoint", &options->checkpoint, "Checkpoint whose state to use");
  command.option("--averaged", &options->averaged, "Use the averages of the parameters");
  add_threads(command, options->load);
  add_deadline(command, options->load);
  add_operator_sets(command, options->load);
  command.option("--json", &options->as_json, "Print JSON");
  command.takes_job_file("eval");
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli
