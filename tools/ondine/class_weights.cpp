#include "ondine/class_weights.h"

#include <array>
#include <charconv>
#include <iostream>

#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

// All digits of a float.
std::string exact(double value) {
  std::array<char, 32> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<float>(value));
  return {digits.data(), end.ptr};
}

std::string count_weights(const ClassWeightOptions& options, const std::string& file) {
  const Model model = Model::load(file);
  Dataset data = open_dataset(options.data.data, options.data, model);
  if (options.validation_split != 0) {
    data = data.split(options.validation_split, options.load.seed).first;
  }
  const std::vector<std::uint64_t> counts = data.class_counts();
  if (counts.empty()) {
    throw Error(ErrorCode::mismatch,
                "balanced class weights need data with one class for each row");
  }
  const auto rows = static_cast<double>(data.rows());
  std::string weights;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string name = i < data.classes().size() ? data.classes()[i] : std::to_string(i);
    if (counts[i] == 0) {
      throw Error(ErrorCode::mismatch,
                  "class '" + printable(name) + "' has no rows in the training data");
    }
    const double weight =
        rows / (static_cast<double>(counts.size()) * static_cast<double>(counts[i]));
    weights += (i == 0 ? "" : ",") + exact(weight);
    std::cout << (i == 0 ? "class weights: " : ", ") << printable(name) << ' ' << number(weight);
  }
  std::cout << '\n';
  return weights;
}

}  // namespace

void add_class_weights(Command command, ClassWeightOptions& options,
                       const std::optional<std::chrono::milliseconds>& deadline) {
  options.is_shared = [command] { return command.is_from_job("--data"); };
  command.heading("Data of --class-weights balanced");
  Option data = add_data_options(command, options.data, deadline);
  command.heading("Data of --class-weights balanced");
  command
      .option("--validation-split", &options.validation_split,
              "Fraction of the rows that `train` sets apart with the same --seed")
      .needs(data);
  add_seed(command, options.load);
  command.find("--seed").needs(data);
}

void balance_classes(const ClassWeightOptions& options, const std::string& model,
                     OptionValues& values) {
  require_data(options.data);
  bool is_balanced = false;
  for (auto& [name, value] : values) {
    if (name != "class-weights" || value != "balanced") continue;
    if (options.data.data.empty()) throw WrongUsage("--class-weights balanced needs --data");
    value = count_weights(options, model);
    is_balanced = true;
  }
  if (!is_balanced && !options.data.data.empty() && !options.is_shared()) {
    throw WrongUsage("prepare reads --data for --class-weights balanced only");
  }
}

}  // namespace ondine::cli
