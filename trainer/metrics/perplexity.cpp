#include <algorithm>
#include <cmath>

#include "trainer/metrics/families.h"
#include "trainer/metrics/softmax.h"

namespace ondine::metrics {
namespace {

// As in the loss nll.
constexpr double least_log = -100;

// exp of the mean of -log p(label).
class Perplexity final : public Metric {
 public:
  void add(const Batch& batch) override {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const std::size_t label = class_of(batch, row);
      const auto scores = batch.scores.subspan(row * batch.columns, batch.columns);
      const double log_p = batch.probabilities ? std::max(std::log(scores[label]), least_log)
                                               : scores[label] - log_sum_exp(scores);
      sum_ -= batch.weight(row) * log_p;
      count_ += batch.weight(row);
    }
  }
  void write(Evaluation& to) const override {
    to.metrics.set("perplexity", std::exp(sum_ / count_));
  }

 private:
  double sum_ = 0;
  double count_ = 0;
};

}  // namespace

std::unique_ptr<Metric> make_perplexity(const std::string&, const Context&) {
  return std::make_unique<Perplexity>();
}

}  // namespace ondine::metrics
