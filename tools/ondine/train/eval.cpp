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
void name_target(const Model& model, const CommandOptions& options, OptionValues& reading) {
  if (!options.has("label") || options.has("target")) return;
  if (recorded_options(model, DataUse::evaluation).target.empty()) return;
  reading.emplace_back("target", options.text("label"));
}

int run_eval(const CommandOptions& options) {
  const LoadOptions load = load_of(options);
  note_precision(load);
  Model model = Model::load(options.text("model"), load);
  print_warnings(model);
  if (options.has("checkpoint")) take_checkpoint(model, options.text("checkpoint"));
  if (options.has("averaged")) take_averages(model);
  DataOptions places = data_of(options);
  name_target(model, options, places.values);
  const Dataset data = open_dataset(places.data, places, model, DataUse::evaluation);
  const EvaluateOptions how = evaluate_options(options.of(OptionGroup::evaluate),
                                               eval_inputs(model), OptionSpelling::dashes);
  const Dataset evaluated = data.has_validation() ? data.validation() : data;
  print_skipped(evaluated);
  const Evaluation score = evaluate(model, evaluated, how);
  if (!score.note.empty()) std::cerr << "note: " << score.note << '\n';
  if (options.has("json")) {
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
  parser.add(
      "eval", "Compute metrics on data, on its validation part if it has one",
      "  ondine eval trained.onnx --data /usr/share/datasets/fashion-mnist\n"
      "  ondine eval train.onnx --checkpoint run.ckpt --data x_test.npy "
      "y_test.npy --label y\n"
      "  ondine eval trained.onnx --data photos --metrics accuracy,top5,f1,confusion_matrix\n",
      run_eval);
}

}  // namespace ondine::cli
