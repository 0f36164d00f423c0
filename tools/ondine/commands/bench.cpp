#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/synthetic.h"
#include "ondine/system.h"

namespace ondine::cli {
namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Result {
  PlanInfo plan;
  double first_ms = 0;  // with planning
  double median_ms = 0;
  double fastest_ms = 0;
  std::uint64_t resident = 0;
  std::vector<ProfileEntry> operators;
};

Result measure(const CommandOptions& options) {
  Model model = Model::load(options.text("model"), load_of(options));
  print_warnings(model);
  const std::size_t algorithm = options.count("algorithm");
  const bool training = !options.has("inference") && model.algorithm_count() > 0;
  const std::vector<PortInfo> inputs =
      training ? model.algorithm(algorithm).inputs : model.inputs();
  const NamedValues feeds = synthetic_feeds(inputs, options.integer("dim-size"), 1,
                                            parse_shapes(options.texts("shape"), inputs));
  NamedValues results;
  if (training) {
    for (const std::string& name : step_metrics(model, algorithm)) {
      results.emplace_back(name, Value());
    }
  }
  const auto step = [&] {
    const auto start = Clock::now();
    if (training) {
      model.train_step_into(feeds, algorithm, results);
    } else {
      model.infer(feeds);
    }
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  Result result;
  std::vector<std::string> fetches;
  for (const NamedValue& value : results) fetches.push_back(value.first);
  result.plan = model.plan(feeds, training ? std::optional(algorithm) : std::nullopt, fetches);
  result.first_ms = step();
  std::vector<double> times;
  const std::size_t steps = options.count("steps");
  for (std::size_t i = 0; i < steps; ++i) times.push_back(step());
  result.median_ms = median(times);
  result.fastest_ms = *std::min_element(times.begin(), times.end());
  result.resident = resident_peak();
  model.set_profiling(true);
  const std::size_t profiled = std::max<std::size_t>(1, steps / 5);
  for (std::size_t i = 0; i < profiled; ++i) step();
  result.operators = model.profile();
  for (ProfileEntry& entry : result.operators) {
    entry.calls /= profiled;
    entry.seconds /= static_cast<double>(profiled);
  }
  return result;
}

void print_json(const CommandOptions& options, const Result& result) {
  nlohmann::json operators = nlohmann::json::array();
  for (const ProfileEntry& entry : result.operators) {
    operators.push_back({{"op", entry.op}, {"calls", entry.calls}, {"ms", entry.seconds * 1e3}});
  }
  std::cout << nlohmann::json{{"model", options.text("model")},
                              {"batch", options.integer("dim-size")},
                              {"threads", load_of(options).threads},
                              {"steps", options.count("steps")},
                              {"first_ms", result.first_ms},
                              {"median_ms", result.median_ms},
                              {"fastest_ms", result.fastest_ms},
                              {"planned_bytes", result.plan.arena_bytes},
                              {"constant_bytes", result.plan.constant_bytes},
                              {"state_bytes", result.plan.state_bytes},
                              {"nodes", result.plan.nodes},
                              {"resident_bytes", result.resident},
                              {"operators", operators}}
                   .dump(2)
            << '\n';
}

void print(const Result& result) {
  std::cout << "median step " << number(result.median_ms) << " ms, fastest "
            << number(result.fastest_ms) << " ms, first (with planning) " << number(result.first_ms)
            << " ms\n"
            << "planned peak " << human_bytes(result.plan.arena_bytes) << ", constants "
            << human_bytes(result.plan.constant_bytes) << ", state "
            << human_bytes(result.plan.state_bytes) << ", resident peak "
            << human_bytes(result.resident) << ", " << result.plan.nodes << " nodes\n";
  double total = 0;
  for (const ProfileEntry& entry : result.operators) total += entry.seconds;
  for (const ProfileEntry& entry : result.operators) {
    std::printf("  %-32s %6llu calls %10.4f ms %5.1f %%\n", printable(entry.op).c_str(),
                static_cast<unsigned long long>(entry.calls), entry.seconds * 1e3,
                total > 0 ? 100 * entry.seconds / total : 0);
  }
}

int run_bench(const CommandOptions& options) {
  note_precision(load_of(options));
  const Result result = measure(options);
  if (options.has("json")) {
    print_json(options, result);
  } else {
    print(result);
  }
  return 0;
}

}  // namespace

void add_bench(Parser& parser) {
  parser.add("bench", "Time training steps or inference on synthetic data",
             "  ondine bench train.onnx --dim-size 64 --threads 2\n"
             "  ondine bench model.onnx --inference --json\n"
             "  ondine bench model.onnx --shape input=1x3x48x320\n",
             run_bench);
}

}  // namespace ondine::cli
