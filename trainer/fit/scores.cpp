#include "trainer/fit/scores.h"

#include <cmath>

#include "core/message.h"
#include "trainer/fit/metric_values.h"

namespace ondine::fit {
namespace {

// How many labels the largest entry along axis 1 hits, the first of several.
std::int64_t count_hits(const Tensor& output, const Tensor& labels) {
  const Shape& shape = output.shape();
  const auto inner = static_cast<std::size_t>(shape.size(2, shape.rank()));
  const auto classes = static_cast<std::size_t>(shape[1]);
  const std::vector<double> scores = metric_values(output);
  const std::vector<double> wanted = metric_values(labels);
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double* first = scores.data() + i / inner * classes * inner + i % inner;
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (first[c * inner] > first[best * inner]) best = c;
    }
    if (static_cast<double>(best) == wanted[i]) ++hits;
  }
  return hits;
}

}  // namespace

std::vector<std::string> Scores::names() const {
  if (kind_ == ScoreKind::regression) return {"mse", "mae"};
  return {"accuracy"};
}

bool Scores::fit(const Shape& output, const Shape& labels) const {
  if (kind_ != ScoreKind::classes) return output.size() == labels.size();
  return output.rank() >= 2 && output.size() == labels.size() * output[1];
}

void Scores::add(const Tensor& output, const Tensor& labels) {
  if (!fit(output.shape(), labels.shape())) {
    fail(ErrorCode::mismatch, kind_ == ScoreKind::classes ? "classes " : "output ", output.shape(),
         kind_ == ScoreKind::classes ? " do not fit labels " : " does not fit labels ",
         labels.shape());
  }
  count_ += labels.size();
  if (kind_ == ScoreKind::classes) {
    sum_ += static_cast<double>(count_hits(output, labels));
    return;
  }
  const std::vector<double> got = metric_values(output);
  const std::vector<double> wanted = metric_values(labels);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (kind_ == ScoreKind::binary) {
      sum_ += (got[i] > threshold_) == (wanted[i] > 0.5) ? 1 : 0;
    } else {
      const double difference = got[i] - wanted[i];
      sum_ += difference * difference;
      others_ += std::fabs(difference);
    }
  }
}

void Scores::clear() {
  sum_ = 0;
  others_ = 0;
  count_ = 0;
}

void Scores::mean(Metrics& to) const {
  const auto count = static_cast<double>(count_);
  to.set(names()[0], sum_ / count);
  if (kind_ == ScoreKind::regression) to.set("mae", others_ / count);
}

}  // namespace ondine::fit
