#include "ondine/class_weights.h"

#include <charconv>
#include <iostream>

#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

constexpr const char* balanced = "balanced";

std::vector<float> parse_weights(const std::string& text) {
  std::vector<float> numbers;
  for (const std::string& part : split_commas(text)) {
    float number = 0;
    const char* const end = part.data() + part.size();
    const auto [last, error] = std::from_chars(part.data(), end, number);
    if (error != std::errc() || last != end) {
      throw WrongUsage(
          "--class-weights needs numbers with commas between them, or balanced; found " + text);
    }
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<float> count_weights(const ClassWeightOptions& options, const std::string& file) {
  const Model model = Model::load(file);
  Dataset data = open_dataset(options.data.data, options.data, model);
  if (options.validation_split != 0) {
    data = data.split(options.validation_split, options.seed).first;
  }
  const std::vector<std::uint64_t> counts = data.class_counts();
  if (counts.empty()) {
    throw Error(ErrorCode::mismatch,
                "balanced class weights need data with one class for each row");
  }
  const auto rows = static_cast<double>(data.rows());
  std::vector<float> weights;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string name = i < data.classes().size() ? data.classes()[i] : std::to_string(i);
    if (counts[i] == 0) {
      throw Error(ErrorCode::mismatch,
                  "class '" + printable(name) + "' has no rows in the training data");
    }
    const double weight =
        rows / (static_cast<double>(counts.size()) * static_cast<double>(counts[i]));
    weights.push_back(static_cast<float>(weight));
    std::cout << (i == 0 ? "class weights: " : ", ") << printable(name) << ' ' << number(weight);
  }
  std::cout << '\n';
  return weights;
}

}  // namespace

void add_class_weights(Command command, ClassWeightOptions& options,
                       const std::optional<std::chrono::milliseconds>& deadline) {
  command.option("--class-weights", &options.weights,
                 "Of softmax-cross-entropy and focal: a weight for each class, such as 1,0.5,2, or "
                 "balanced: in inverse proportion to its rows in --data");
  Option data = add_data_options(command, options.data, deadline);
  command
      .option("--validation-split", &options.validation_split,
              "With --data: fraction of the rows that `train` sets apart with the same --seed")
      .needs(data);
  command.option("--seed", &options.seed, "With --validation-split: its seed").needs(data);
}

std::vector<float> class_weights(const ClassWeightOptions& options, const std::string& model) {
  const bool is_balanced = options.weights == balanced;
  if (is_balanced != !options.data.data.empty()) {
    throw WrongUsage(is_balanced ? "--class-weights balanced needs --data"
                                 : "prepare reads --data for --class-weights balanced only");
  }
  if (is_balanced) return count_weights(options, model);
  return options.weights.empty() ? std::vector<float>() : parse_weights(options.weights);
}

}  // namespace ondine::cli
