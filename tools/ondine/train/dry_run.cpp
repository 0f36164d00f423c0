// `train --dry-run`: what a run would do, from its first steps.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include <ondine/data.h>
#include <ondine/printable.h>

#include "ondine/train/interrupt.h"
#include "ondine/train/train_run.h"

namespace ondine::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t timed_steps = 3;

void print_data(const char* part, const Dataset& data) {
  std::cout << part << data.rows() << " rows";
  const char* separator = ": ";
  for (const PortInfo& column : data.columns()) {
    std::cout << separator << printable(column.name) << ' ' << column.type;
    separator = ", ";
  }
  std::cout << '\n';
  const std::vector<std::uint64_t> counts = data.class_counts();
  if (counts.empty()) return;
  constexpr std::size_t shown = 20;
  std::cout << "  " << counts.size() << " classes";
  separator = ": ";
  for (std::size_t i = 0; i < std::min(shown, counts.size()); ++i) {
    const bool named = i < data.classes().size();
    std::cout << separator << (named ? printable(data.classes()[i]) : std::to_string(i)) << ' '
              << counts[i];
    separator = ", ";
  }
  std::cout << (counts.size() > shown ? ", ...\n" : "\n");
}

}  // namespace

// Shapes of the first batch.
PlanRequest TrainRun::plan_request(const Dataset& training) const {
  PlanRequest request;
  request.algorithm = options_.trainer.algorithm;
  if (training.empty()) return request;
  std::vector<PortInfo> fed = inputs();
  std::erase_if(fed, [&](const PortInfo& input) { return is_set(input); });
  Feeder feeder(fed, training, options_.trainer.map);
  if (feeder.inputs().empty() || feeder.size() == 0) return request;
  std::vector<std::uint64_t> rows(std::min(options_.trainer.batch_size, feeder.size()));
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  for (const auto& [name, value] : feeder.take(rows)) {
    request.shapes.emplace_back(name, value.tensor().shape());
  }
  return request;
}

void TrainRun::print_plan(const Dataset& training) const {
  const PlanReport plan = model_.plan_report(plan_request(training));
  std::cout << "plan        " << plan.nodes.size() << " nodes for batches of "
            << options_.trainer.batch_size << "\nmemory      arena "
            << human_bytes(plan.arena_bytes) << " (peak " << human_bytes(plan.peak_bytes);
  if (plan.peak_node < plan.nodes.size()) {
    std::cout << " at " << plan.nodes[plan.peak_node].op;
  }
  std::cout << "), state " << human_bytes(plan.state_bytes) << ", constants "
            << human_bytes(plan.constant_bytes) << '\n';
}

void TrainRun::print_times(std::uint64_t rows) {
  std::vector<double> times;
  auto last = Clock::now();
  std::uint64_t epoch_rows = 0;
  trainer_.on_step([&](const StepReport& step) {
    const auto before = std::exchange(last, Clock::now());
    times.push_back(std::chrono::duration<double>(last - before).count());
    epoch_rows = step.epoch_rows;
    return times.size() < timed_steps && !InterruptGuard::requested();
  });
  fit();
  const std::uint64_t batch = options_.trainer.batch_size;
  if (rows == 0) rows = epoch_rows;
  const std::uint64_t steps = (rows + batch - 1) / batch;
  std::cout << "steps       " << steps << " in an epoch, " << options_.trainer.epochs
            << " epochs\ntime        ";
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::cout << (i == 0 ? "" : ", ") << number(1e3 * times[i]) << " ms"
              << (i == 0 ? " (with the start of the run)" : "");
  }
  if (times.size() > 1) {
    double mean = 0;
    for (std::size_t i = 1; i < times.size(); ++i) mean += times[i];
    mean /= static_cast<double>(times.size() - 1);
    std::cout << "; an epoch takes about " << number(mean * static_cast<double>(steps)) << " s";
  }
  std::cout << "\nnothing was written\n";
}

int TrainRun::dry_run() {
  const InterruptGuard guard;
  Dataset training = training_;
  std::optional<Dataset> validation = validation_;
  if (options_.trainer.validation_split > 0 && !training.empty()) {
    auto parts = training.split(options_.trainer.validation_split, options_.load.seed);
    training = std::move(parts.first);
    validation = std::move(parts.second);
  } else if (!validation && training.has_validation()) {
    validation = training.validation();
  }
  if (!training.empty()) print_data("training    ", training);
  if (validation && !validation->empty()) print_data("validation  ", *validation);
  print_plan(training);
  print_times(training.empty() ? 0 : training.rows());
  return 0;
}

}  // namespace ondine::cli
