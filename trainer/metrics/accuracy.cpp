#include "trainer/metrics/families.h"

namespace ondine::metrics {
namespace {

class Accuracy final : public Metric {
 public:
  void add(const Batch& batch) override {
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      const double weight = batch.weight_of_label(i);
      if (batch.prediction[i] == batch.labels[i]) hits_ += weight;
      count_ += weight;
    }
  }
  void write(Evaluation& to) const override { to.metrics.set("accuracy", hits_ / count_); }

 private:
  double hits_ = 0;
  double count_ = 0;
};

// Whether fewer than K classes precede the label: those with a larger score, and those before it
// with the same one.
class Top final : public Metric {
 public:
  Top(std::string name, std::size_t k) : name_(std::move(name)), k_(k) {}

  void add(const Batch& batch) override {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const std::size_t label = class_of(batch, row);
      const auto scores = batch.scores.subspan(row * batch.columns, batch.columns);
      std::size_t before = 0;
      for (std::size_t c = 0; c < scores.size(); ++c) {
        if (scores[c] > scores[label] || (c < label && scores[c] == scores[label])) ++before;
      }
      if (before < k_) hits_ += batch.weight(row);
      count_ += batch.weight(row);
    }
  }
  void write(Evaluation& to) const override { to.metrics.set(name_, hits_ / count_); }

 private:
  std::string name_;
  std::size_t k_;
  double hits_ = 0;
  double count_ = 0;
};

}  // namespace

std::unique_ptr<Metric> make_accuracy(const std::string&, const Context&) {
  return std::make_unique<Accuracy>();
}

std::unique_ptr<Metric> make_top(const std::string& name, const Context&) {
  return std::make_unique<Top>(name, *top_count(name));
}

}  // namespace ondine::metrics
