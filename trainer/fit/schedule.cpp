#include "trainer/fit/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <sstream>

#include <ondine/metadata.h>

#include "core/out_of_memory.h"
#include "graph/record/training_entries.h"
#include "graph/training/prepare/updates/check_schedule.h"

namespace ondine::fit {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

std::uint64_t warmup_steps(const Schedule& schedule, const RunLength& length) {
  return static_cast<std::uint64_t>(
      std::llround(graph::warmup_of(schedule) * static_cast<double>(length.run)));
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

// From 1 to 0 along half a cosine.
double half_cosine(double progress) { return (1 + std::cos(std::numbers::pi * progress)) / 2; }

}  // namespace

const char* name_of(const Schedule& schedule) {
  constexpr std::array names{"constant", "step", "cosine", "polynomial", "one-cycle", "plateau"};
  return names.at(schedule.index());
}

bool is_constant(const Schedule& schedule) {
  return std::holds_alternative<ConstantSchedule>(schedule) && graph::warmup_of(schedule) == 0;
}

double rate_at(const Schedule& schedule, double base, std::uint64_t step, const RunLength& length,
               std::uint64_t drops) {
  const std::uint64_t warmup = warmup_steps(schedule, length);
  const auto* cycle = std::get_if<OneCycleSchedule>(&schedule);
  if (step < warmup && cycle != nullptr) {
    const double rise = 1 - half_cosine(ratio(step, warmup));
    return base * (cycle->start + (1 - cycle->start) * rise);
  }
  if (step < warmup) return base * ratio(step + 1, warmup + 1);
  // The last step has progress 1.
  const std::uint64_t falling = length.run > warmup + 1 ? length.run - warmup - 1 : 0;
  const double progress = ratio(step - warmup, falling);
  const auto fall = [&](double final_rate, double share) {
    return final_rate + (base - final_rate) * share;
  };
  return std::visit(
      Overloaded{[&](const ConstantSchedule&) { return base; },
                 [&](const StepSchedule& one) {
                   const std::uint64_t falls = step / length.epoch / one.every;
                   return base * std::pow(one.factor, static_cast<double>(falls));
                 },
                 [&](const PlateauSchedule& one) {
                   const double rate = base * std::pow(one.factor, static_cast<double>(drops));
                   return std::max(rate, std::min(base, one.min_rate));
                 },
                 [&](const PolynomialSchedule& one) {
                   return fall(one.final_rate, std::pow(1 - progress, one.power));
                 },
                 [&](const auto& one) { return fall(one.final_rate, half_cosine(progress)); }},
      schedule);
}

std::string describe(const Schedule& schedule, const RunLength& length) {
  if (is_constant(schedule)) return {};
  std::ostringstream text;
  text.precision(17);
  std::visit(
      Overloaded{
          [&](const ConstantSchedule&) { text << "constant"; },
          [&](const StepSchedule& one) {
            text << "step, factor " << one.factor << " every " << one.every << " epochs of "
                 << length.epoch << " steps";
          },
          [&](const CosineSchedule& one) { text << "cosine, final rate " << one.final_rate; },
          [&](const PolynomialSchedule& one) {
            text << "polynomial, power " << one.power << ", final rate " << one.final_rate;
          },
          [&](const OneCycleSchedule& one) {
            text << "one-cycle, start " << one.start << ", final rate " << one.final_rate;
          },
          [&](const PlateauSchedule& one) {
            text << "plateau of " << one.metric << ", factor " << one.factor << " after "
                 << one.patience << " epochs, least change " << one.min_delta << ", least rate "
                 << one.min_rate;
          }},
      schedule);
  const double warmup = graph::warmup_of(schedule);
  if (warmup != 0) text << ", warm-up " << warmup;
  const bool ends = !std::holds_alternative<StepSchedule>(schedule) &&
                    !std::holds_alternative<PlateauSchedule>(schedule);
  if (warmup != 0 || ends) {
    text << ", over " << length.run << " steps";
  }
  return text.str();
}

std::optional<ModelRate> find_model_rate(const Model& model, std::size_t update) {
  ModelRate rate{metadata_of(model, graph::entry::schedule),
                 metadata_of(model, graph::entry::scheduled_rate)};
  if (rate.output.empty() || update >= model.algorithm_count()) return {};
  for (const PortInfo& port : model.algorithm(update).outputs) {
    const bool is_scalar = port.dtype == DType::float32 && port.dims && port.dims->empty();
    if (port.name == rate.output && is_scalar) return rate;
  }
  return {};
}

}  // namespace ondine::fit

namespace ondine {

std::string model_schedule(const Model& model) {
  return guard_memory("read the metadata",
                      [&] { return metadata_of(model, graph::entry::schedule); });
}

}  // namespace ondine
