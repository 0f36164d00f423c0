#include "ondine/train/data_options.h"

#include <algorithm>
#include <iostream>

#include <ondine/printable.h>

#include "ondine/common.h"

namespace ondine::cli {

DataOptions data_of(const CommandOptions& options) {
  DataOptions result{options.texts("data"), options.of(OptionGroup::data)};
  if (!options.takes("cache-bytes")) result.cache_bytes = 0;
  result.deadline = load_of(options).deadline;
  return result;
}

DatasetOptions plain_dataset_options(const DataOptions& options) {
  DatasetOptions result = ondine::dataset_options(options.values, OptionSpelling::dashes);
  if (options.deadline) result.deadline = options.deadline;
  return result;
}

DatasetOptions dataset_options(const DataOptions& options, const Model& model, DataUse use) {
  DatasetOptions result =
      ondine::dataset_options(options.values, model, use, OptionSpelling::dashes);
  if (options.cache_bytes) result.cache_bytes = *options.cache_bytes;
  if (options.deadline) result.deadline = options.deadline;
  return result;
}

Dataset open_places(const std::vector<std::string>& places, const DataOptions& options,
                    const DatasetOptions& how) {
  Dataset data = Dataset::open(to_paths(places), how);
  const bool has_columns = std::any_of(options.values.begin(), options.values.end(),
                                       [](const auto& one) { return one.first == "columns"; });
  if (has_columns && !data.table()) {
    throw WrongUsage("--columns names columns of a .csv file of features; the data are none");
  }
  return data;
}

Dataset open_dataset(const std::vector<std::string>& places, const DataOptions& options,
                     const Model& model, DataUse use) {
  return open_places(places, options, dataset_options(options, model, use));
}

Dataset open_like(const Dataset& training, const std::vector<std::string>& places,
                  const DataOptions& options, const Model& model) {
  const DatasetOptions how = dataset_options(options, model, DataUse::training);
  return Dataset::open(to_paths(places), options_like(training, how));
}

void print_skipped(const Dataset& data, const Dataset& said) {
  const std::vector<std::string> known = said.notes();
  for (const std::string& note : data.notes()) {
    if (std::find(known.begin(), known.end(), note) != known.end()) continue;
    std::cerr << "note: " << note << '\n';
  }
  const std::vector<std::string>& skipped = data.skipped();
  if (skipped.empty()) return;
  std::cerr << "note: " << skipped.size() << " broken "
            << (data.sample_rate() > 0 ? "recordings" : "images") << " are left out\n";
  constexpr std::size_t shown = 20;
  for (std::size_t i = 0; i < std::min(shown, skipped.size()); ++i) {
    std::cerr << "  " << printable(skipped[i]) << '\n';
  }
  if (skipped.size() > shown) std::cerr << "  ...\n";
}

}  // namespace ondine::cli
