// Metrics of a model's output against labels, accumulated over the batches of a data set. The
// definitions are in docs/metrics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ondine/trainer.h>

namespace ondine::metrics {

enum class Task : std::uint8_t {
  classes,     // scores of classes; each label is one of them
  binary,      // scores of columns; the label of each is true or false
  regression,  // numbers in columns
  sequences,   // labels in a row, and those decoded from scores
};

// Matrices in row-major order; a row is a position that has labels.
struct Batch {
  std::size_t columns = 1;             // classes, or columns
  std::span<const double> scores;      // rows x columns
  std::span<const double> labels;      // of classes one for each row, else rows x columns
  std::span<const double> prediction;  // of classes the class, of binary 0 or 1; as labels
  bool probabilities = false;          // of classes: each row of scores sums to 1
  // Where labels were left out: the positions that are left, among all positions of the batch.
  std::span<const std::size_t> positions;
  std::size_t all_positions = 0;
  // Labels of each row of sequences, decoded and true: sequences have these instead of scores,
  // labels and prediction.
  std::span<const std::vector<std::int64_t>> decoded;
  std::span<const std::vector<std::int64_t>> references;
  std::span<const double> weights;  // one for each row; empty: all are 1

  std::size_t rows() const noexcept { return columns == 0 ? 0 : scores.size() / columns; }
  double weight(std::size_t row) const { return weights.empty() ? 1 : weights[row]; }
  // Weight of a position among the labels, which are one or `columns` for each row.
  double weight_of_label(std::size_t position) const {
    return weight(labels.size() == rows() ? position : position / columns);
  }
  // Sum of the weights of the first `count` rows.
  double total(std::size_t count) const {
    double sum = 0;
    for (std::size_t row = 0; row < count; ++row) sum += weight(row);
    return sum;
  }
};

class Metric {
 public:
  virtual ~Metric() = default;
  virtual void add(const Batch& batch) = 0;
  // Sets what was accumulated since the start; at least one row must have been added.
  virtual void write(Evaluation& to) const = 0;
};

struct Context {
  Task task = Task::classes;
  std::vector<std::string> class_names;  // empty, or one for each class
};

// "NAME[CLASS]", the class by its name if it has one.
std::string name_of_class(const std::string& metric, std::size_t index, const Context& context);

// labels[row] of a batch of classes as an index. Error(mismatch) unless it is one.
std::size_t class_of(const Batch& batch, std::size_t row);

}  // namespace ondine::metrics
