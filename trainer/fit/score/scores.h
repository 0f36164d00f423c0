// Metrics of an output against labels, over the batches of a data set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/fit/score/decode_sequences.h"
#include "trainer/fit/score/scoring.h"
#include "trainer/metrics/metric.h"

namespace ondine::fit {

class Scores {
 public:
  explicit Scores(const Scoring& scoring);

  // Why output and labels of these shapes cannot be compared; empty when they can.
  std::string misfit(const Shape& output, const Shape& labels) const;
  // The output for the rows of a batch, which has the labels. Error(mismatch) for shapes that do
  // not fit.
  void add(const Tensor& output, std::span<const NamedValue> batch);
  // Sets what was accumulated.
  void write(Evaluation& to) const;
  // Batch that add() was given last; valid until it is called again.
  metrics::Batch last() const {
    return {columns_,   scores_,        labels_,  prediction_, probabilities_.value_or(false),
            positions_, all_positions_, decoded_, references_, weights_};
  }
  std::int64_t count() const noexcept { return count_; }      // of labels that count
  std::int64_t ignored() const noexcept { return ignored_; }  // of labels that do not
  double weight() const noexcept { return weight_; }          // of labels that count

 private:
  std::size_t columns_axis(const Shape& output, const Shape& labels);
  void add(const Tensor& output, const Tensor& labels, std::span<const NamedValue> batch);
  void read_weights(std::span<const NamedValue> batch, std::size_t positions);
  void read(const Tensor& output, const Tensor& labels);
  void add_sequences(const Tensor& output, const Tensor& labels, std::span<const NamedValue> batch);
  void add_decided(const Tensor& output, const Tensor& labels);
  void leave_out_ignored();
  void predict();

  Scoring scoring_;
  std::optional<std::size_t> axis_;    // of the classes, once known
  std::optional<bool> probabilities_;  // of the classes, once known
  std::vector<std::unique_ptr<metrics::Metric>> metrics_;
  std::int64_t count_ = 0;
  std::int64_t ignored_ = 0;
  double weight_ = 0;
  // Columns, scores and labels of the last batch.
  std::size_t columns_ = 1;
  std::vector<double> scores_;
  std::vector<double> labels_;
  std::vector<double> prediction_;
  std::vector<std::size_t> positions_;  // of the labels that count; empty: all
  std::size_t all_positions_ = 0;
  std::vector<double> weights_;  // of the labels that count; empty: all alike
  std::vector<Labels> decoded_;
  std::vector<Labels> references_;
};

}  // namespace ondine::fit
