#include <ondine/prepare.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <span>

#include <ondine/options.h>
#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/prepare_report.h"
#include "ondine/training_rows.h"

namespace ondine::cli {
namespace {

struct PrepareArguments {
  std::string input;
  std::string output;
  OptionValues values;
  OptionValues table;
  OptionValues budget;
  TrainingRows rows;
  LoadOptions load;
};

std::string percent(double share) { return number(std::round(share * 1000) / 10) + " %"; }

void keep_to_budget(const PrepareArguments& options, const Dataset& data, const TrainBudget& budget,
                    PrepareOptions& prepare) {
  const TrainChoice choice =
      choose_trained(Model::load(options.input, options.load), data, prepare, budget, options.load);
  keep_to(choice, prepare);
  std::cout << "budget: trains " << choice.train.size() << " of " << choice.parameters.size()
            << " parameters, which have " << percent(choice.gain) << " of the gain; a step takes "
            << human_bytes(choice.bytes) << ", one of all " << human_bytes(choice.all_bytes)
            << '\n';
  constexpr std::size_t most = 20;
  for (const ParameterGain& one :
       std::span(choice.parameters).first(std::min(most, choice.parameters.size()))) {
    std::cout << "  " << (one.trained ? "train   " : "freeze  ") << printable(one.name) << "  "
              << percent(one.gain) << '\n';
  }
  if (choice.parameters.size() > most) {
    std::cout << "  and " << choice.parameters.size() - most << " with less\n";
  }
}

int run_prepare(PrepareArguments& options) {
  const TableOptions table = table_options(options.table, OptionSpelling::dashes);
  const TrainBudget budget = train_budget(options.budget, OptionSpelling::dashes);
  UsedRows used =
      use_training_rows(options.rows, options.input, table, budget.bytes != 0, options.values);
  PrepareOptions prepare = prepare_options(options.values, OptionSpelling::dashes);
  prepare.table = std::move(used.plan);
  if (budget.bytes != 0) keep_to_budget(options, used.data, budget, prepare);
  const PrepareReport report =
      ondine::prepare(options.input, options.output, prepare, options.load);
  print_warnings(report.warnings);
  print_report(options.output, report, prepare.quantize_frozen.has_value());
  if (prepare.privacy) {
    const Privacy& privacy = *prepare.privacy;
    std::cout << "  privacy clip " << privacy.clip << ", noise " << privacy.noise << ", batches of "
              << privacy.batch_size << " rows in the mean"
              << (privacy.secure_noise ? ", from a cryptographic generator" : "") << '\n';
  }
  return 0;
}

}  // namespace

void add_prepare(Parser& parser) {
  auto options = std::make_shared<PrepareArguments>();
  Command command =
      parser.add("prepare", "Turn an inference model into a training model",
                 "  ondine prepare cnn.onnx -o train.onnx --loss softmax-cross-entropy "
                 "--optimizer adam\n"
                 "  ondine prepare net.onnx -o train.onnx --loss mse --optimizer sgd "
                 "--learning-rate 0.1\n"
                 "  ondine prepare cnn.onnx -o head.onnx --loss softmax-cross-entropy "
                 "--optimizer momentum \\\n"
                 "      --last-layers 1 --init keep\n"
                 "  ondine prepare cnn.onnx -o flowers.onnx --loss softmax-cross-entropy "
                 "--optimizer adamw --head 5\n"
                 "  ondine prepare cnn.onnx -o raw.onnx --loss softmax-cross-entropy \\\n"
                 "      --preprocess scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225\n"
                 "  ondine prepare net.onnx -o train.onnx --loss mse --data homes.csv \\\n"
                 "      --one-hot city --standardize all --impute median\n");
  command.option("MODEL", &options->input, "Inference model").required();
  command.option("-o,--output", &options->output, "Training model to write").required();
  command.table(OptionGroup::prepare, options->values);
  command.table(OptionGroup::table, options->table);
  command.table(OptionGroup::budget, options->budget);
  add_training_rows(command, options->rows, options->load.deadline);
  add_deadline(command, options->load);
  add_operator_sets(command, options->load);
  command.takes_job_file("prepare");
  command.runs([options] { return run_prepare(*options); });
}

}  // namespace ondine::cli
