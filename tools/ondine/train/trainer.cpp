#include "ondine/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ondine/take_weights.h"
#include "ondine/train/interrupt.h"

namespace ondine::cli {
namespace {

using Clock = std::chrono::steady_clock;

Value scalar_value(const PortInfo& port, double value) {
  switch (port.dtype) {
    case DType::float32:
      return Tensor::scalar(static_cast<float>(value));
    case DType::float64:
      return Tensor::scalar(value);
    case DType::int64:
      return Tensor::scalar(static_cast<std::int64_t>(value));
    case DType::int32:
      return Tensor::scalar(static_cast<std::int32_t>(value));
    default:
      throw Error(ErrorCode::mismatch,
                  "input '" + port.name + "' of type " + port.type + " cannot be set to a number");
  }
}

const PortInfo& require_input(const std::vector<PortInfo>& ports, const std::string& name) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const PortInfo& port) { return port.name == name; });
  if (found == ports.end()) {
    throw Error(ErrorCode::mismatch, "the training step has no input '" + name + "'");
  }
  return *found;
}

double parse_number(const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || used == 0) {
    throw Error(ErrorCode::mismatch, "--set needs a number, found '" + text + "'");
  }
  return value;
}

const Property* find_property(const Properties& properties, const std::string& name) {
  for (const auto& [key, value] : properties) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

TrainRun::TrainRun(const TrainOptions& options)
    : options_(options), model_(Model::load(options.model, options.load)) {
  if (options_.algorithm >= model_.algorithm_count()) {
    throw Error(ErrorCode::mismatch,
                "model '" + options_.model + "' has " + std::to_string(model_.algorithm_count()) +
                    " training algorithms" +
                    (model_.algorithm_count() == 0 ? "; make one with 'ondine prepare'" : ""));
  }
  data_ = load_splits(to_paths(options_.data));
  prepare_feeds();
  cursor_.shuffle_seed = options_.load.seed;
  totals_.sums.resize(metrics_.size());
  if (options_.initialize && !options_.resume) model_.initialize(options_.load.seed);
  if (!options_.weights.empty()) take_weights(model_, options_.weights);
  if (options_.resume) resume();
  if (!options_.metrics.empty()) {
    log_.open(options_.metrics, options_.resume ? std::ios::app : std::ios::trunc);
    if (!log_) throw Error(ErrorCode::io, "cannot write '" + options_.metrics + "'");
  }
}

void TrainRun::prepare_feeds() {
  const std::vector<PortInfo> all = model_.algorithm(options_.algorithm).inputs;
  if (options_.learning_rate) {
    std::string name;
    for (const PortInfo& port : all) {
      if (port.name.find("learning_rate") != std::string::npos && name.empty()) name = port.name;
    }
    if (name.empty()) {
      throw Error(ErrorCode::mismatch, "model '" + options_.model +
                                           "' has no input 'learning_rate'; use --set NAME=VALUE");
    }
    constants_.emplace_back(
        name, scalar_value(require_input(all, name), static_cast<double>(*options_.learning_rate)));
  }
  for (const std::string& pair : options_.set) {
    const auto [name, value] = split_pair(pair, "--set");
    constants_.emplace_back(name, scalar_value(require_input(all, name), parse_number(value)));
  }
  std::vector<PortInfo> fed = all;
  std::erase_if(fed, [&](const PortInfo& port) {
    return std::any_of(constants_.begin(), constants_.end(),
                       [&](const NamedValue& one) { return one.first == port.name; });
  });
  const ArrayMap map = parse_map(options_.map);
  feeder_.emplace(fed, data_.train, map);
  if (const auto fixed = feeder_->fixed_batch(); fixed && *fixed != options_.batch_size) {
    throw Error(ErrorCode::mismatch, "the model takes batches of " + std::to_string(*fixed) +
                                         ", --batch-size is " +
                                         std::to_string(options_.batch_size));
  }
  if (feeder_->size() == 0 || (feeder_->fixed_batch() && feeder_->size() < options_.batch_size)) {
    throw Error(ErrorCode::mismatch,
                "the data has " + std::to_string(feeder_->size()) + " rows, less than one batch");
  }
  if (!data_.validation.empty()) {
    const auto label = find_label(model_, data_.validation, map, "");
    if (label) evaluator_.emplace(model_, data_.validation, map, *label, "");
  }
  for (const std::string& name : metric_names(model_, options_.algorithm)) {
    metrics_.emplace_back(name, Value());
  }
}

void TrainRun::resume() {
  const RestoreReport report = model_.restore_checkpoint(options_.checkpoint);
  if (!report.note.empty()) std::cerr << "note: " << report.note << '\n';
  cursor_ = report.cursor;
  if (const Property* batch = find_property(report.properties, "batch_size")) {
    const auto* size = std::get_if<std::int64_t>(batch);
    if (size != nullptr && static_cast<std::uint64_t>(*size) != options_.batch_size) {
      throw Error(ErrorCode::mismatch, "the checkpoint was trained with --batch-size " +
                                           std::to_string(*size) + ", now it is " +
                                           std::to_string(options_.batch_size));
    }
  }
  if (cursor_.position > feeder_->size()) {
    throw Error(ErrorCode::mismatch, "the checkpoint stands at row " +
                                         std::to_string(cursor_.position) + ", the data has " +
                                         std::to_string(feeder_->size()));
  }
  totals_.rows = cursor_.position;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const Property* sum = find_property(report.properties, "sum." + metrics_[i].first);
    const auto* value = sum == nullptr ? nullptr : std::get_if<double>(sum);
    if (value != nullptr) totals_.sums[i] = *value;
  }
}

int TrainRun::run() {
  const InterruptGuard guard;
  try {
    while (cursor_.epoch < options_.epochs) {
      const auto start = Clock::now();
      if (!run_epoch()) return interrupted();
      finish_epoch(std::chrono::duration<double>(Clock::now() - start).count());
      if (InterruptGuard::requested() && cursor_.epoch < options_.epochs) return interrupted();
    }
  } catch (const Error&) {
    progress_.line("stopped in epoch " + std::to_string(cursor_.epoch + 1) + ", step " +
                   std::to_string(step_in_epoch_ + 1));
    save_after_failure();
    throw;
  }
  write_result();
  return 0;
}

bool TrainRun::run_epoch() {
  const std::uint64_t n = feeder_->size();
  const std::vector<std::uint64_t> order = shuffled(n, cursor_.shuffle_seed, cursor_.epoch);
  const bool whole_only = feeder_->fixed_batch().has_value();
  const std::string title =
      "epoch " + std::to_string(cursor_.epoch + 1) + "/" + std::to_string(options_.epochs);
  step_in_epoch_ = cursor_.position / options_.batch_size;
  while (cursor_.position < n) {
    if (InterruptGuard::requested()) return false;
    const std::uint64_t count = std::min(options_.batch_size, n - cursor_.position);
    if (count < options_.batch_size && whole_only) break;
    step(std::span(order).subspan(cursor_.position, count));
    cursor_.position += count;
    ++step_in_epoch_;
    progress_.update(title, cursor_.position, n, status());
    if (options_.checkpoint_every != 0 && step_in_epoch_ % options_.checkpoint_every == 0) save();
  }
  return true;
}

void TrainRun::step(std::span<const std::uint64_t> rows) {
  const auto batch = feeder_->take(rows);
  feeds_.assign(batch.begin(), batch.end());
  feeds_.insert(feeds_.end(), constants_.begin(), constants_.end());
  model_.train_step_into(feeds_, options_.algorithm, metrics_);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const double value = scalar_of(metrics_[i].second.tensor());
    if (options_.stop_on_nan && !std::isfinite(value)) {
      diverged_ = true;
      throw Error(ErrorCode::mismatch, metrics_[i].first + " is " + number(value) + " in epoch " +
                                           std::to_string(cursor_.epoch + 1) + ", step " +
                                           std::to_string(step_in_epoch_ + 1) +
                                           "; nothing was saved since the last checkpoint");
    }
    totals_.sums[i] += value * static_cast<double>(rows.size());
  }
  totals_.rows += rows.size();
}

std::string TrainRun::status() const {
  std::string text;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + metrics_[i].first + " " +
            number(totals_.sums[i] / static_cast<double>(totals_.rows));
  }
  return text;
}

void TrainRun::finish_epoch(double seconds) {
  std::string text = "epoch " + std::to_string(cursor_.epoch + 1) + "/" +
                     std::to_string(options_.epochs) + ": " + status();
  nlohmann::json record{{"epoch", cursor_.epoch + 1},
                        {"step", model_.steps()},
                        {"rows", totals_.rows},
                        {"seconds", seconds}};
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    record[metrics_[i].first] = totals_.sums[i] / static_cast<double>(totals_.rows);
  }
  if (evaluator_) {
    const auto score = evaluator_->run(model_, std::max<std::uint64_t>(options_.batch_size, 256),
                                       [] { return false; });
    text += ", validation " + score->metric + " " + number(score->value);
    record["validation_" + score->metric] = score->value;
  }
  progress_.line(text + ", " + number(std::round(seconds * 100) / 100) + " s");
  if (log_.is_open() && !(log_ << record.dump() << std::endl)) {
    throw Error(ErrorCode::io, "cannot write '" + options_.metrics + "'");
  }
  ++cursor_.epoch;
  cursor_.position = 0;
  totals_.rows = 0;
  std::fill(totals_.sums.begin(), totals_.sums.end(), 0.0);
  save();
}

void TrainRun::save() {
  if (options_.checkpoint.empty()) return;
  Properties properties{{"batch_size", static_cast<std::int64_t>(options_.batch_size)}};
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    properties.emplace_back("sum." + metrics_[i].first, totals_.sums[i]);
  }
  model_.save_checkpoint(options_.checkpoint, cursor_, properties);
}

// A failed step changes nothing, so the state is that of the last good one. A second failure must
// not hide the first.
void TrainRun::save_after_failure() noexcept {
  if (diverged_) return;
  try {
    save();
  } catch (const std::exception&) {
  }
}

void TrainRun::write_result() {
  if (options_.output.empty()) return;
  if (is_safetensors(options_.output)) {
    save_weights(model_, options_.output);
  } else {
    model_.export_inference(options_.output);
  }
  progress_.line("wrote " + options_.output);
}

int TrainRun::interrupted() {
  save();
  progress_.line("");
  std::cerr << "ondine: interrupted in epoch " << cursor_.epoch + 1 << " after " << cursor_.position
            << " of " << feeder_->size() << " rows";
  if (options_.checkpoint.empty()) {
    std::cerr << "; nothing was saved (no --checkpoint)\n";
  } else {
    std::cerr << "; saved to '" << options_.checkpoint << "', go on with --resume\n";
  }
  return 1;
}

}  // namespace ondine::cli
