#include "trainer/fit/run_state.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/data/augment/draws.h"

namespace ondine::fit {
namespace {

// Names of the properties of a checkpoint.
constexpr const char* batch_size = "batch_size";
constexpr const char* validation_split = "validation_split";
constexpr const char* augmentation_text = "augmentation";
constexpr const char* schedule_text = "schedule";
constexpr const char* schedule_base = "schedule.base_rate";
constexpr const char* best_metric = "best.metric";
constexpr const char* best_value = "best.value";
constexpr const char* best_epoch = "best.epoch";
constexpr const char* best_stale = "best.stale";
constexpr const char* best_step = "best.step";
constexpr const char* evaluated_every = "eval_every";
constexpr const char* plateau_value = "plateau.value";
constexpr const char* plateau_stale = "plateau.stale";
constexpr const char* plateau_drops = "plateau.drops";
constexpr const char* accumulated = "accumulate";
constexpr const char* private_steps = "privacy.steps";
constexpr const char* private_rate = "privacy.rate";
constexpr const char* private_noise = "privacy.noise";
constexpr const char* shards = "micro_shards";

template <class T>
const T* find(const Properties& properties, std::string_view name) {
  for (const auto& [key, value] : properties) {
    if (key == name) return std::get_if<T>(&value);
  }
  return nullptr;
}

std::uint64_t count_of(const Properties& properties, std::string_view name) {
  const auto* value = find<std::int64_t>(properties, name);
  return value == nullptr || *value < 0 ? 0 : static_cast<std::uint64_t>(*value);
}

std::string text_of(const std::optional<Augmentation>& augmentation) {
  return augmentation ? data::describe(*augmentation) : std::string();
}

void require_same(const RestoreReport& report, const TrainerOptions& options) {
  const Properties& stored = report.properties;
  const auto* size = find<std::int64_t>(stored, batch_size);
  if (size != nullptr && static_cast<std::uint64_t>(*size) != options.batch_size) {
    fail(ErrorCode::mismatch, "the checkpoint was trained with --batch-size ", *size,
         ", now it is ", options.batch_size);
  }
  const auto* fraction = find<double>(stored, validation_split);
  if ((fraction == nullptr ? 0.0 : *fraction) != options.validation_split) {
    fail(ErrorCode::mismatch, "the checkpoint was trained with --validation-split ",
         fraction == nullptr ? 0.0 : *fraction, ", now it is ", options.validation_split);
  }
  const std::uint64_t divided = count_of(stored, shards);
  if (divided != options.micro_shards.value_or(0) && !options.fast_reduce) {
    const auto said = [](std::uint64_t count) {
      return count == 0 ? std::string("without micro-shards") : cat("with --micro-shards ", count);
    };
    fail(ErrorCode::mismatch, "the checkpoint was trained ", said(divided), ", now it is ",
         said(options.micro_shards.value_or(0)), "; the bits of a run follow from their number");
  }
  // The patience of early stopping counts evaluations.
  const std::uint64_t evaluated = count_of(stored, evaluated_every);
  if (evaluated != options.eval_every) {
    fail(ErrorCode::mismatch, "the checkpoint was trained with --eval-every ", evaluated,
         ", now it is ", options.eval_every);
  }
  const auto* augmented = find<std::string>(stored, augmentation_text);
  const std::string now = text_of(options.augmentation);
  if ((augmented == nullptr ? std::string() : *augmented) != now) {
    fail(ErrorCode::mismatch, "the checkpoint was trained with --augment ",
         quoted(augmented == nullptr ? std::string() : *augmented), ", now it is ", quoted(now));
  }
  // The order of rows is that of the first run; 0 stands for no seed of one's own.
  if (options.seed != 0 && options.seed != report.cursor.shuffle_seed) {
    fail(ErrorCode::mismatch, "the checkpoint was trained with the seed ",
         report.cursor.shuffle_seed, ", now it is ", options.seed);
  }
  const auto* metric = find<std::string>(stored, best_metric);
  if (metric != nullptr && options.early_stopping && *metric != options.early_stopping->metric) {
    fail(ErrorCode::mismatch, "the checkpoint's best epoch is that of --monitor ", *metric,
         ", now it is ", options.early_stopping->metric);
  }
}

}  // namespace

MetricSums::MetricSums(const std::vector<std::string>& names) {
  for (const std::string& name : names) sums_.push_back({name});
}

void MetricSums::add(const Metrics& step, std::uint64_t rows, const Metrics& weights) {
  for (Sum& one : sums_) {
    const double weight =
        weights.contains(one.name) ? weights[one.name] : static_cast<double>(rows);
    one.sum += step[one.name] * weight;
    one.weight += weight;
  }
  rows_ += rows;
}

void MetricSums::clear() {
  for (Sum& one : sums_) one.sum = one.weight = 0;
  rows_ = 0;
}

void MetricSums::mean(Metrics& to) const {
  for (const Sum& one : sums_) to.set(one.name, one.weight == 0 ? 0 : one.sum / one.weight);
}

void MetricSums::require_labels() const {
  for (const Sum& one : sums_) {
    if (rows_ == 0 || one.weight != 0) continue;
    fail(ErrorCode::mismatch, "no label counts for ", quoted(one.name), " in ", rows_,
         " rows: all are ignored or have weight 0");
  }
}

Properties RunState::properties(const TrainerOptions& options) const {
  Properties result{{batch_size, static_cast<std::int64_t>(options.batch_size)}};
  for (const auto& one : sums.sums_) {
    result.emplace_back("sum." + one.name, one.sum);
    result.emplace_back("weight." + one.name, one.weight);
  }
  if (options.validation_split != 0) {
    result.emplace_back(validation_split, options.validation_split);
  }
  if (const std::string text = text_of(options.augmentation); !text.empty()) {
    result.emplace_back(augmentation_text, text);
  }
  if (schedule && !schedule->empty() && base_rate) {
    result.emplace_back(schedule_text, *schedule);
    result.emplace_back(schedule_base, *base_rate);
  }
  if (options.early_stopping && best.value) {
    result.emplace_back(best_metric, options.early_stopping->metric);
    result.emplace_back(best_value, *best.value);
    result.emplace_back(best_epoch, static_cast<std::int64_t>(best.epoch));
    result.emplace_back(best_stale, static_cast<std::int64_t>(best.stale));
    if (best.step != 0) result.emplace_back(best_step, static_cast<std::int64_t>(best.step));
  }
  if (options.eval_every != 0) {
    result.emplace_back(evaluated_every, static_cast<std::int64_t>(options.eval_every));
  }
  if (accumulate != 1) result.emplace_back(accumulated, static_cast<std::int64_t>(accumulate));
  if (spent.steps != 0) {
    result.emplace_back(private_steps, static_cast<std::int64_t>(spent.steps));
    result.emplace_back(private_rate, spent.rate);
    result.emplace_back(private_noise, spent.noise);
  }
  if (options.micro_shards) {
    result.emplace_back(shards, static_cast<std::int64_t>(*options.micro_shards));
  }
  if (plateau.value) {
    result.emplace_back(plateau_value, *plateau.value);
    result.emplace_back(plateau_stale, static_cast<std::int64_t>(plateau.stale));
    result.emplace_back(plateau_drops, static_cast<std::int64_t>(drops));
  }
  return result;
}

void RunState::restore(const RestoreReport& report, const TrainerOptions& options) {
  require_same(report, options);
  cursor = report.cursor;
  sums.rows_ = cursor.position;
  for (auto& one : sums.sums_) {
    const auto* value = find<double>(report.properties, "sum." + one.name);
    one.sum = value == nullptr ? 0 : *value;
    // Checkpoints of before weighed by rows.
    const auto* weight = find<double>(report.properties, "weight." + one.name);
    one.weight = weight == nullptr ? static_cast<double>(cursor.position) : *weight;
  }
  const auto* began = find<std::string>(report.properties, schedule_text);
  schedule = began == nullptr ? std::string() : *began;
  const auto* base = find<double>(report.properties, schedule_base);
  base_rate = base == nullptr ? std::nullopt : std::optional<double>(*base);
  const std::uint64_t batches =
      std::max<std::uint64_t>(1, count_of(report.properties, accumulated));
  if (batches != accumulate) {
    fail(ErrorCode::mismatch, "the checkpoint was trained with --accumulate ", batches,
         ", now it is ", accumulate);
  }
  spent = {};
  spent.steps = count_of(report.properties, private_steps);
  if (const auto* value = find<double>(report.properties, private_rate)) spent.rate = *value;
  if (const auto* value = find<double>(report.properties, private_noise)) spent.noise = *value;
  plateau = {};
  drops = count_of(report.properties, plateau_drops);
  if (const auto* value = find<double>(report.properties, plateau_value)) {
    plateau = {*value, 0, count_of(report.properties, plateau_stale)};
  }
  best = {};
  if (const auto* value = find<double>(report.properties, best_value)) {
    best = {*value, count_of(report.properties, best_epoch),
            count_of(report.properties, best_stale), count_of(report.properties, best_step)};
  }
}

void RunState::require_schedule(const std::string& text) {
  if (schedule && *schedule != text) {
    const auto say = [](const std::string& one) { return one.empty() ? "constant" : one; };
    fail(ErrorCode::mismatch, "the run was begun with the schedule ", quoted(say(*schedule)),
         ", now it is ", quoted(say(text)));
  }
  schedule = text;
}

}  // namespace ondine::fit
