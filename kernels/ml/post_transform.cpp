#include "kernels/ml/post_transform.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace ondine::kernels {
namespace {

constexpr std::array<std::string_view, 5> names{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                "PROBIT"};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Newton's method on p = erfc(-x / sqrt 2) / 2, from Winitzki's approximation.
double probit(double p) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (p == 0 || p == 1) return p == 0 ? -infinity : infinity;
  if (!(p > 0 && p < 1)) return std::numeric_limits<double>::quiet_NaN();
  const double log_term = std::log(4 * p * (1 - p));
  const double a = 2 / (std::numbers::pi * 0.147) + log_term / 2;
  double x = std::sqrt(2 * (std::sqrt(a * a - log_term / 0.147) - a));
  if (p < 0.5) x = -x;
  for (int i = 0; i < 4; ++i) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    if (density == 0) break;
    x -= (std::erfc(-x / std::numbers::sqrt2) / 2 - p) / density;
  }
  return x;
}

void softmax(std::span<double> scores, double least) {
  if (scores.empty()) return;
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    if (std::abs(score) >= least) {
      score = std::exp(score - top);
      sum += score;
    } else {
      score *= std::exp(-top);
    }
  }
  for (double& score : scores) score = sum == 0 ? 0.5 : score / sum;
}

}  // namespace

PostTransform read_post_transform(const graph::NodeView& node) {
  const std::string name = node.attr_string("post_transform", "NONE");
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail(ErrorCode::invalid_model, "attribute 'post_transform' is ", quoted(name),
         ", not NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT");
  }
  return static_cast<PostTransform>(found - names.begin());
}

PostTransform numbered_post_transform(const graph::NodeView& node) {
  const std::int64_t number = node.attr_int("post_transform", 0);
  if (number < 0 || number >= std::ssize(names)) {
    fail(ErrorCode::invalid_model, "attribute 'post_transform' is ", number, ", not 0 to 4");
  }
  return static_cast<PostTransform>(number);
}

void apply(PostTransform transform, std::span<double> scores) {
  switch (transform) {
    case PostTransform::none:
      return;
    case PostTransform::softmax:
      return softmax(scores, 0);
    case PostTransform::softmax_zero:
      return softmax(scores, 1e-7);
    case PostTransform::logistic:
      for (double& score : scores) score = logistic(score);
      return;
    case PostTransform::probit:
      for (double& score : scores) score = probit(score);
      return;
  }
}

void make_pair(PostTransform transform, SingleScore meaning, std::span<double> scores) {
  const bool untransformed = transform == PostTransform::none || transform == PostTransform::probit;
  const bool complement = meaning == SingleScore::probability && untransformed;
  scores[0] = complement ? 1 - scores[1] : -scores[1];
}

std::size_t top_class(std::span<const double> scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace ondine::kernels
