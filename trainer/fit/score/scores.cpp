#include "trainer/fit/score/scores.h"

#include <algorithm>

#include <ondine/best_paths.h>

#include "core/message.h"
#include "trainer/fit/score/class_axis.h"
#include "trainer/fit/score/metric_values.h"
#include "trainer/metrics/catalogue.h"
#include "trainer/metrics/softmax.h"

namespace ondine::fit {
namespace {

using metrics::Task;

// [outer, columns, inner] as [outer, inner, columns].
void move_axis_last(std::vector<double>& values, std::size_t columns, std::size_t inner) {
  if (inner == 1 || columns == 1) return;
  std::vector<double> moved(values.size());
  const std::size_t block = columns * inner;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t in_block = i % block;
    const std::size_t at = in_block % inner * columns + in_block / inner;
    moved[i - in_block + at] = values[i];
  }
  values = std::move(moved);
}

std::size_t largest(std::span<const double> scores) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < scores.size(); ++c) {
    if (scores[c] > scores[best]) best = c;
  }
  return best;
}

std::string axes_text(const std::vector<std::size_t>& axes) {
  std::string text;
  for (const std::size_t axis : axes) text += (text.empty() ? "" : " or ") + std::to_string(axis);
  return text;
}

const Tensor& tensor_of(std::span<const NamedValue> batch, std::string_view name) {
  for (const auto& [key, value] : batch) {
    if (key == name) return value.tensor();
  }
  fail(ErrorCode::mismatch, "the data has no ", quoted(name));
}

}  // namespace

Scores::Scores(const Scoring& scoring) : scoring_(scoring), probabilities_(scoring.probabilities) {
  for (const std::string& name : scoring_.metrics) {
    metrics_.push_back(metrics::make(name, {scoring_.task, scoring_.class_names}));
  }
}

std::string Scores::misfit(const Shape& output, const Shape& labels) const {
  if (scoring_.task == Task::sequences) {
    if (output.rank() == 3 && labels.rank() == 2 && output[0] == labels[0]) return {};
    return cat("output ", output, " holds no scores [batch, steps, classes] for labels ", labels);
  }
  if (scoring_.task != Task::classes || scoring_.is_decided) {
    if (output.size() == labels.size()) return {};
    return cat("output ", output, " does not fit labels ", labels);
  }
  if (axis_) {
    if (fits_class_axis(output, labels, *axis_)) return {};
    return cat("classes ", output, " do not fit labels ", labels);
  }
  if (scoring_.class_axis) {
    const auto rank = static_cast<std::int64_t>(output.rank());
    const std::int64_t axis = *scoring_.class_axis + (*scoring_.class_axis < 0 ? rank : 0);
    // The first axis counts rows.
    if (axis >= 1 && fits_class_axis(output, labels, static_cast<std::size_t>(axis))) return {};
    return cat("classes ", output, " along axis ", *scoring_.class_axis, " do not fit labels ",
               labels);
  }
  const std::vector<std::size_t> axes = possible_class_axes(output, labels);
  if (axes.size() == 1) return {};
  if (axes.empty()) return cat("classes ", output, " do not fit labels ", labels);
  return cat("the classes of output ", quoted(scoring_.output), " ", output, " may be axis ",
             axes_text(axes), " for labels ", labels,
             ": the model does not say; name it: --class-axis");
}

// Axis of the columns: that of the classes; for other tasks the second one, so that a row has one
// entry for each label.
std::size_t Scores::columns_axis(const Shape& output, const Shape& labels) {
  if (scoring_.task != Task::classes) return 1;
  if (!axis_) {
    const auto rank = static_cast<std::int64_t>(output.rank());
    axis_ = scoring_.class_axis
                ? static_cast<std::size_t>(*scoring_.class_axis < 0 ? *scoring_.class_axis + rank
                                                                    : *scoring_.class_axis)
                : possible_class_axes(output, labels).front();
  }
  return *axis_;
}

// Labels of classes that do not count, and the scores of their positions.
void Scores::leave_out_ignored() {
  positions_.clear();
  all_positions_ = labels_.size();
  if (!scoring_.ignored_label || scoring_.task != Task::classes) return;
  const auto ignored = static_cast<double>(*scoring_.ignored_label);
  if (std::find(labels_.begin(), labels_.end(), ignored) == labels_.end()) return;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] != ignored) positions_.push_back(i);
  }
  for (std::size_t to = 0; to < positions_.size(); ++to) {
    labels_[to] = labels_[positions_[to]];
    std::copy_n(scores_.begin() + static_cast<std::ptrdiff_t>(positions_[to] * columns_), columns_,
                scores_.begin() + static_cast<std::ptrdiff_t>(to * columns_));
  }
  if (!weights_.empty()) {
    for (std::size_t to = 0; to < positions_.size(); ++to) weights_[to] = weights_[positions_[to]];
    weights_.resize(positions_.size());
  }
  ignored_ += static_cast<std::int64_t>(labels_.size() - positions_.size());
  labels_.resize(positions_.size());
  scores_.resize(positions_.size() * columns_);
}

// An output of classes has no scores; the class has 1, the others 0.
void Scores::add_decided(const Tensor& output, const Tensor& labels) {
  const std::vector<double> classes = metric_values(output);
  labels_ = metric_values(labels);
  columns_ = scoring_.class_count;
  scores_.assign(classes.size() * columns_, 0);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!(classes[i] >= 0 && classes[i] < static_cast<double>(columns_))) {
      const std::string known =
          scoring_.class_count_is_assumed
              ? cat(columns_, " classes were assumed, since neither the model nor the data names ",
                    "any; give data that names its classes, as folders and words in a table do")
              : cat("the model has ", columns_, " classes");
      fail(ErrorCode::mismatch, "output ", quoted(scoring_.output), " has the class ", classes[i],
           "; ", known);
    }
    scores_[i * columns_ + static_cast<std::size_t>(classes[i])] = 1;
  }
  probabilities_ = true;
}

void Scores::predict() {
  prediction_.clear();
  if (scoring_.task == Task::classes) {
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const auto row = std::span<const double>(scores_).subspan(i * columns_, columns_);
      prediction_.push_back(static_cast<double>(largest(row)));
    }
    if (!probabilities_) probabilities_ = metrics::are_probabilities(scores_, columns_);
  } else if (scoring_.task == Task::binary) {
    for (const double score : scores_) prediction_.push_back(score > scoring_.threshold ? 1 : 0);
    for (double& label : labels_) label = label > 0.5 ? 1 : 0;
  }
}

void Scores::add(const Tensor& output, std::span<const NamedValue> batch) {
  const Tensor& labels = tensor_of(batch, scoring_.label.name);
  if (scoring_.task == Task::sequences) return add_sequences(output, labels, batch);
  add(output, labels, batch);
}

// A row may have several positions with labels.
void Scores::read_weights(std::span<const NamedValue> batch, std::size_t positions) {
  weights_.clear();
  if (!scoring_.weights) return;
  const std::vector<double> rows = metric_values(tensor_of(batch, scoring_.weights->name));
  for (std::size_t i = 0; i < positions; ++i) {
    weights_.push_back(rows[i / (positions / rows.size())]);
  }
}

void Scores::add_sequences(const Tensor& output, const Tensor& labels,
                           std::span<const NamedValue> batch) {
  const std::string problem = misfit(output.shape(), labels.shape());
  if (!problem.empty()) fail(ErrorCode::mismatch, problem);
  references_ = cut_labels(labels, tensor_of(batch, scoring_.lengths[0].name));
  const Tensor& steps = tensor_of(batch, scoring_.lengths[1].name);
  decoded_ =
      best_paths(output, scoring_.blank, lengths_of(steps, output.shape()[0], output.shape()[1]));
  read_weights(batch, references_.size());
  for (const auto& metric : metrics_) metric->add(last());
  count_ += labels.shape()[0];
  weight_ += last().total(references_.size());
}

void Scores::add(const Tensor& output, const Tensor& labels, std::span<const NamedValue> batch) {
  const std::string problem = misfit(output.shape(), labels.shape());
  if (!problem.empty()) fail(ErrorCode::mismatch, problem);
  if (labels.size() == 0) return;
  if (scoring_.is_decided) {
    add_decided(output, labels);
  } else {
    read(output, labels);
  }
  read_weights(batch, scores_.size() / columns_);
  leave_out_ignored();
  predict();
  if (labels_.empty()) return;
  if (scoring_.task == Task::classes && !scoring_.class_count_is_assumed) {
    for (std::size_t row = 0; row < labels_.size(); ++row) metrics::class_of(last(), row);
  }
  for (const auto& metric : metrics_) metric->add(last());
  count_ += static_cast<std::int64_t>(labels_.size());
  weight_ += last().total(last().rows());
}

void Scores::read(const Tensor& output, const Tensor& labels) {
  const Shape& shape = output.shape();
  const std::size_t axis = columns_axis(shape, labels.shape());
  // Numbers to compare are columns each on its own.
  const bool flat = scoring_.task == Task::regression;
  columns_ = axis >= shape.rank()
                 ? 1
                 : static_cast<std::size_t>(flat ? shape.size(1, shape.rank()) : shape[axis]);
  const auto inner = axis + 1 >= shape.rank() || flat
                         ? std::size_t{1}
                         : static_cast<std::size_t>(shape.size(axis + 1, shape.rank()));
  scores_ = metric_values(output);
  labels_ = metric_values(labels);
  move_axis_last(scores_, columns_, inner);
  if (scoring_.task == Task::binary) move_axis_last(labels_, columns_, inner);
}

void Scores::write(Evaluation& to) const {
  for (const auto& metric : metrics_) metric->write(to);
}

}  // namespace ondine::fit
