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

UsedRows use_training_rows(const CommandOptions& options, const TableOptions& table,
                           OptionValues& values) {
  const auto balanced = std::find_if(values.begin(), values.end(), [](const auto& one) {
    return one.first == "class-weights" && one.second == "balanced";
  });
  const bool is_balanced = balanced != values.end();
  if (!options.has("data")) {
    if (is_balanced) throw WrongUsage("--class-weights balanced needs --data");
    return {};
  }
  const DataOptions places = data_of(options);
  DatasetOptions how =
      dataset_options(places, Model::load(options.text("model")), DataUse::training);
  if (!table.is_empty()) how.raw = raw_table(table);
  Dataset data = open_places(places.data, places, how);
  if (options.has("validation-split")) {
    data = data.split(options.real("validation-split"), options.count("seed")).first;
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
