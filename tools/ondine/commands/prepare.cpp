#include <ondine/prepare.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>

#include <ondine/options.h>
#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/prepare_report.h"
#include "ondine/training_rows.h"

namespace ondine::cli {
namespace {

std::string percent(double share) { return number(std::round(share * 1000) / 10) + " %"; }

void keep_to_budget(const CommandOptions& options, const LoadOptions& load, const Dataset& data,
                    const TrainBudget& budget, PrepareOptions& prepare) {
  const TrainChoice choice =
      choose_trained(Model::load(options.text("model"), load), data, prepare, budget, load);
  keep_to(choice, prepare);
  std::cout << "budget: " << to_string(choice) << '\n';
  constexpr std::size_t most = 20;
  for (const ParameterGain& one :
       std::span(choice.parameters).first(std::min(most, choice.parameters.size()))) {
    std::cout << "  " << (one.trained ? "train   " : "freeze  ") << printable(one.name) << "  "
              << percent(one.gain);
    if (!one.channels.empty()) {
      std::cout << ", " << one.channels.size() << " channels with " << percent(one.trained_gain);
    }
    std::cout << '\n';
  }
  if (choice.parameters.size() > most) {
    std::cout << "  and " << choice.parameters.size() - most << " with less\n";
  }
}

int run_prepare(const CommandOptions& options) {
  const TableOptions table = table_options(options.of(OptionGroup::table), OptionSpelling::dashes);
  const TrainBudget budget = train_budget(options.of(OptionGroup::budget), OptionSpelling::dashes);
  OptionValues values = options.of(OptionGroup::prepare);
  UsedRows used = use_training_rows(options, table, values);
  PrepareOptions prepare = prepare_options(values, OptionSpelling::dashes);
  prepare.table = std::move(used.plan);
  LoadOptions load = load_of(options);
  load.seed = 0;  // --seed is that of the split
  if (budget.bytes != 0) keep_to_budget(options, load, used.data, budget, prepare);
  const std::string output = options.text("output");
  const PrepareReport report = ondine::prepare(options.text("model"), output, prepare, load);
  print_warnings(report.warnings);
  print_report(output, report, prepare.quantize_frozen.has_value());
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
             "      --one-hot city --standardize all --impute median\n",
             run_prepare);
}

}  // namespace ondine::cli
