#include "ondine/train/seeds.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include <ondine/printable.h>

namespace ondine::cli {
namespace {

void require_no_files(const TrainOptions& options) {
  const bool names_file =
      std::any_of(options.values.begin(), options.values.end(), [](const auto& value) {
        return value.first == "checkpoint" || value.first == "log-dir" || value.first == "report";
      });
  if (options.output.empty() && options.metrics_file.empty() && !names_file) return;
  throw WrongUsage("--seeds compares runs and writes no files");
}

struct Values {
  std::string name;
  std::vector<double> of_runs;
};

void add(std::vector<Values>& all, const std::string& name, double value) {
  for (Values& one : all) {
    if (one.name != name) continue;
    one.of_runs.push_back(value);
    return;
  }
  all.push_back({name, {value}});
}

void print(const Values& values) {
  const auto n = static_cast<double>(values.of_runs.size());
  double mean = 0;
  for (const double value : values.of_runs) mean += value / n;
  double squares = 0;
  for (const double value : values.of_runs) squares += (value - mean) * (value - mean);
  std::cout << printable(values.name) << ": mean " << number(mean) << ", standard deviation "
            << number(std::sqrt(squares / (n - 1))) << " of " << values.of_runs.size() << " runs\n";
}

}  // namespace

int train_seeds(const TrainOptions& options, std::uint64_t seeds) {
  require_no_files(options);
  std::vector<Values> all;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    TrainOptions one = options;
    one.load.seed = options.load.seed + i;
    std::cout << "seed " << one.load.seed << '\n';
    TrainRun run(one);
    const int code = run.run();
    if (code != 0) return code;
    const std::optional<EpochReport>& last = run.last_epoch();
    if (!last) continue;
    for (const auto& [name, value] : last->training) add(all, name, value);
    for (const auto& [name, value] : last->validation) add(all, "validation " + name, value);
  }
  for (const Values& one : all) {
    if (one.of_runs.size() == seeds) print(one);
  }
  return 0;
}

}  // namespace ondine::cli
