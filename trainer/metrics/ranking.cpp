// Metrics of how scores order positives before negatives; they need the scores of all rows.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/message.h"
#include "trainer/metrics/families.h"
#include "trainer/metrics/softmax.h"

namespace ondine::metrics {
namespace {

constexpr std::size_t max_scores = std::size_t{1} << 27;

struct Scored {
  double score;
  bool positive;
  double weight;
};

// Rows with the same score.
struct Group {
  double positives = 0;
  double negatives = 0;
};

// From the largest score down.
std::vector<Group> groups_of(std::vector<Scored> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  std::vector<Group> result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].score != rows[i - 1].score) result.emplace_back();
    (rows[i].positive ? result.back().positives : result.back().negatives) += rows[i].weight;
  }
  return result;
}

// The share of pairs of a positive and a negative in which the positive has the larger score, ties
// counting half.
double roc_auc(const std::vector<Group>& groups) {
  double positives = 0;
  double negatives = 0;
  double halves = 0;
  for (const Group& group : groups) {
    halves += group.negatives * (2 * positives + group.positives);
    positives += group.positives;
    negatives += group.negatives;
  }
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return halves / 2 / positives / negatives;
}

// The sum over thresholds of precision times the increase of recall.
double average_precision(const std::vector<Group>& groups) {
  double positives = 0;
  double seen = 0;
  double sum = 0;
  for (const Group& group : groups) {
    positives += group.positives;
    seen += group.positives + group.negatives;
    if (seen > 0) sum += group.positives * positives / seen;
  }
  if (positives == 0) return std::numeric_limits<double>::quiet_NaN();
  return sum / positives;
}

class Ranking final : public Metric {
 public:
  Ranking(std::string name, Context context)
      : name_(std::move(name)), context_(std::move(context)) {}

  void add(const Batch& batch) override {
    columns_ = batch.columns;
    if (batch.scores.size() > max_scores - std::min(max_scores, scores_.size())) {
      fail(ErrorCode::limit, "metric ", quoted(name_), " has to keep all scores: more than ",
           max_scores);
    }
    for (const double score : batch.scores) {
      if (score != score) fail(ErrorCode::mismatch, "metric ", quoted(name_), ": a score is NaN");
    }
    const bool of_classes = context_.task == Task::classes;
    for (std::size_t row = 0; of_classes && row < batch.rows(); ++row) class_of(batch, row);
    if (of_classes && !batch.probabilities) {
      for (std::size_t row = 0; row < batch.rows(); ++row) {
        append_softmax(batch.scores.subspan(row * columns_, columns_), scores_);
      }
    } else {
      scores_.insert(scores_.end(), batch.scores.begin(), batch.scores.end());
    }
    labels_.insert(labels_.end(), batch.labels.begin(), batch.labels.end());
    weights_.insert(weights_.end(), batch.weights.begin(), batch.weights.end());
  }

  void write(Evaluation& to) const override {
    const bool per_class = name_.ends_with("_per_class");
    const std::string base = per_class ? name_.substr(0, name_.size() - 10) : name_;
    double sum = 0;
    std::size_t number = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::vector<Group> groups = groups_of(column(c));
      const double value = base == "roc_auc" ? roc_auc(groups) : average_precision(groups);
      if (per_class) to.metrics.set(name_of_class(base, c, context_), value);
      if (value != value) continue;
      sum += value;
      ++number;
    }
    if (!per_class) to.metrics.set(name_, sum / static_cast<double>(number));
  }

 private:
  std::vector<Scored> column(std::size_t c) const {
    const bool of_classes = context_.task == Task::classes;
    const std::size_t rows = scores_.size() / columns_;
    std::vector<Scored> result;
    result.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t at = row * columns_ + c;
      const bool positive = of_classes ? labels_[row] == static_cast<double>(c) : labels_[at] != 0;
      result.push_back({scores_[at], positive, weights_.empty() ? 1 : weights_[row]});
    }
    return result;
  }

  std::string name_;
  Context context_;
  std::size_t columns_ = 1;
  std::vector<double> scores_;
  std::vector<double> labels_;
  std::vector<double> weights_;  // of the rows; empty: all are 1
};

}  // namespace

std::unique_ptr<Metric> make_ranking(const std::string& name, const Context& context) {
  return std::make_unique<Ranking>(name, context);
}

}  // namespace ondine::metrics
