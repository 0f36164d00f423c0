#include "ondine/training_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>

#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

// All digits of a float.
std::string exact(float value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

std::string count_weights(const Dataset& data) {
  const std::vector<float> weights = data.balanced_class_weights();
  std::string text;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string name = i < data.classes().size() ? data.classes()[i] : std::to_string(i);
    text += (i == 0 ? "" : ",") + exact(weights[i]);
    std::cout << (i == 0 ? "class weights: " : ", ") << printable(name) << ' '
              << number(double{weights[i]});
  }
  std::cout << '\n';
  return text;
}

}  // namespace

void add_training_rows(Command command, TrainingRows& options,
                       const std::optional<std::chrono::milliseconds>& deadline) {
  options.is_shared = [command] { return command.is_from_job("--data"); };
  command.heading("Data of --class-weights balanced, of columns of a table and of a budget");
  Option data = add_data_options(command, options.data, deadline);
  command.heading("Data of --class-weights balanced, of columns of a table and of a budget");
  command
      .option("--validation-split", &options.validation_split,
              "Fraction of the rows that `train` sets apart with the same --seed")
      .needs(data);
  add_seed(command, options.load);
  command.find("--seed").needs(data);
}

UsedRows use_training_rows(const TrainingRows& options, const std::string& file,
                           const TableOptions& table, bool has_budget, OptionValues& values) {
  require_data(options.data);
  const auto balanced = std::find_if(values.begin(), values.end(), [](const auto& one) {
    return one.first == "class-weights" && one.second == "balanced";
  });
  const bool is_balanced = balanced != values.end();
  if (options.data.data.empty()) {
    if (is_balanced) throw WrongUsage("--class-weights balanced needs --data");
    if (!table.is_empty()) {
      throw WrongUsage("--one-hot, --embed, --standardize and --impute need --data");
    }
    if (has_budget) throw WrongUsage("--train-budget needs --data");
    return {};
  }
  if (!is_balanced && table.is_empty() && !has_budget) {
    if (options.is_shared()) return {};
    throw WrongUsage(
        "prepare reads --data for --class-weights balanced, --one-hot, --embed, --standardize, "
        "--impute and --train-budget only");
  }
  DatasetOptions how = dataset_options(options.data, Model::load(file), DataUse::training);
  if (!table.is_empty()) how.raw = raw_table(table);
  Dataset data = open_places(options.data.data, options.data, how);
  if (options.validation_split != 0) {
    data = data.split(options.validation_split, options.load.seed).first;
  }
  print_skipped(data);
  const bool is_said = std::any_of(values.begin(), values.end(),
                                   [](const auto& one) { return one.first == "row-weights"; });
  if (!data.weights().empty() && !is_said) values.emplace_back("row-weights", "true");
  if (is_balanced) balanced->second = count_weights(data);
  UsedRows used{{}, std::move(data)};
  if (table.is_empty()) return used;
  used.plan = plan_table(used.data, table);
  for (const std::string& note : used.plan->notes) std::cerr << "note: " << note << '\n';
  return used;
}

}  // namespace ondine::cli
