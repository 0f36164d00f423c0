#include <cmath>

#include "trainer/metrics/families.h"

namespace ondine::metrics {
namespace {

class MeanError final : public Metric {
 public:
  explicit MeanError(std::string name) : name_(std::move(name)) {}

  void add(const Batch& batch) override {
    const bool absolute = name_ == "mae";
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      const double difference = batch.scores[i] - batch.labels[i];
      const double weight = batch.weight_of_label(i);
      sum_ += weight * (absolute ? std::fabs(difference) : difference * difference);
      count_ += weight;
    }
  }
  void write(Evaluation& to) const override {
    const double mean = sum_ / count_;
    to.metrics.set(name_, name_ == "rmse" ? std::sqrt(mean) : mean);
  }

 private:
  std::string name_;
  double sum_ = 0;
  double count_ = 0;
};

// 1 - squared differences / squared deviations of the labels from their mean, of each column, and
// the mean over the columns. The deviations are updated label by label (B. P. Welford, "Note on a
// method for calculating corrected sums of squares and products", Technometrics 4, 1962).
class R2 final : public Metric {
 public:
  void add(const Batch& batch) override {
    columns_.resize(batch.columns);
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      Column& column = columns_[i % batch.columns];
      const double label = batch.labels[i];
      const double residual = batch.scores[i] - label;
      const double weight = batch.weight_of_label(i);
      if (weight == 0) continue;
      column.residuals += weight * residual * residual;
      column.count += weight;
      const double before = label - column.mean;
      column.mean += before * weight / column.count;
      column.deviations += weight * before * (label - column.mean);
    }
  }

  void write(Evaluation& to) const override {
    double sum = 0;
    for (const Column& one : columns_) {
      if (one.deviations != 0) {
        sum += 1 - one.residuals / one.deviations;
      } else if (one.residuals == 0) {
        sum += 1;
      }
    }
    to.metrics.set("r2", sum / static_cast<double>(columns_.size()));
  }

 private:
  struct Column {
    double residuals = 0;
    double mean = 0;  // of the labels
    double deviations = 0;
    double count = 0;
  };
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<Metric> make_error(const std::string& name, const Context&) {
  return std::make_unique<MeanError>(name);
}

std::unique_ptr<Metric> make_r2(const std::string&, const Context&) {
  return std::make_unique<R2>();
}

}  // namespace ondine::metrics
