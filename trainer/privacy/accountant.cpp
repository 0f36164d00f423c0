// Renyi differential privacy of the sampled Gaussian mechanism (Mironov, Talwar, Zhang 2019,
// "Renyi Differential Privacy of the Sampled Gaussian Mechanism", section 3.3).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <ondine/privacy.h>

#include "core/message.h"

namespace ondine {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

const std::vector<double>& orders() {
  static const std::vector<double> all = [] {
    std::vector<double> result;
    for (int tenth = 1; tenth < 100; ++tenth) result.push_back(1 + tenth / 10.0);
    for (int whole = 12; whole < 64; ++whole) result.push_back(whole);
    return result;
  }();
  return all;
}

// log(e^a + e^b), log(e^a - e^b) for a >= b.
double log_sum(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return low == -infinity ? high : high + std::log1p(std::exp(low - high));
}
double log_difference(double a, double b) {
  if (b == -infinity) return a;
  return a <= b ? -infinity : a + std::log1p(-std::exp(b - a));
}

// log erfc(x); for large x by its asymptotic series.
double log_erfc(double x) {
  if (x < 20) return std::log(std::erfc(x));
  const double y = 1 / (2 * x * x);
  return -x * x - std::log(x * std::sqrt(std::numbers::pi)) + std::log1p(-y * (1 - 3 * y));
}

// log A of a whole order, by the binomial theorem.
double log_moment(int order, double q, double sigma) {
  double result = -infinity;
  for (int i = 0; i <= order; ++i) {
    const double binomial =
        std::lgamma(order + 1.0) - std::lgamma(i + 1.0) - std::lgamma(order - i + 1.0);
    const double term = binomial + i * std::log(q) + (order - i) * std::log1p(-q) +
                        (static_cast<double>(i) * i - i) / (2 * sigma * sigma);
    result = log_sum(result, term);
  }
  return result;
}

// log A of any order, by two series over the halves of the line, left and right of z.
double log_moment(double order, double q, double sigma) {
  const double z = sigma * sigma * std::log(1 / q - 1) + 0.5;
  const double scale = std::numbers::sqrt2 * sigma;
  constexpr double negligible = -30;
  double left = -infinity, right = -infinity;
  double log_binomial = 0;  // of the absolute value
  bool is_positive = true;
  for (int i = 0;; ++i) {
    const double j = order - i;
    const auto part = [&](double power, double other, double x) {
      return log_binomial + power * std::log(q) + other * std::log1p(-q) +
             (power * power - power) / (2 * sigma * sigma) + std::log(0.5) + log_erfc(x / scale);
    };
    const double first = part(i, j, i - z);
    const double second = part(j, i, z - j);
    left = is_positive ? log_sum(left, first) : log_difference(left, first);
    right = is_positive ? log_sum(right, second) : log_difference(right, second);
    if (std::max(first, second) < negligible) return log_sum(left, right);
    log_binomial += std::log(std::abs(j) / (i + 1));
    if (j < 0) is_positive = !is_positive;
  }
}

// Renyi divergence of one step.
double divergence(double order, double q, double sigma) {
  if (q == 0) return 0;
  if (sigma == 0) return infinity;
  if (q == 1) return order / (2 * sigma * sigma);
  const bool is_whole = order == std::floor(order);
  const double moment =
      is_whole ? log_moment(static_cast<int>(order), q, sigma) : log_moment(order, q, sigma);
  return moment / (order - 1);
}

void require_step(double noise, double rate) {
  if (!(noise >= 0) || !std::isfinite(noise)) {
    fail(ErrorCode::mismatch, "the noise must be a number that is not negative, found ", noise);
  }
  if (!(rate >= 0 && rate <= 1)) {
    fail(ErrorCode::mismatch, "the rate at which rows are sampled must be in [0, 1], found ", rate);
  }
}

}  // namespace

PrivacyAccountant::PrivacyAccountant() : spent_(orders().size(), 0.0) {}

void PrivacyAccountant::add(double noise, double rate, std::uint64_t steps) {
  require_step(noise, rate);
  if (steps == 0) return;
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    spent_[i] += divergence(orders()[i], rate, noise) * static_cast<double>(steps);
  }
}

double PrivacyAccountant::epsilon(double delta) const {
  if (!(delta > 0 && delta < 1)) {
    fail(ErrorCode::mismatch, "delta must be between 0 and 1, found ", delta);
  }
  if (std::all_of(spent_.begin(), spent_.end(), [](double one) { return one == 0; })) return 0;
  double least = infinity;
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    const double order = orders()[i];
    const double one = spent_[i] - (std::log(delta) + std::log(order)) / (order - 1) +
                       std::log((order - 1) / order);
    if (one < least) least = one;
  }
  return std::max(0.0, least);
}

double noise_for(double epsilon, double delta, double rate, std::uint64_t steps) {
  if (!(epsilon > 0) || !std::isfinite(epsilon)) {
    fail(ErrorCode::mismatch, "epsilon must be positive, found ", epsilon);
  }
  const auto cost = [&](double noise) {
    PrivacyAccountant accountant;
    accountant.add(noise, rate, steps);
    return accountant.epsilon(delta);
  };
  constexpr double most = 1e4;
  double low = 0, high = 1;
  while (cost(high) > epsilon) {
    low = high;
    high *= 2;
    if (high > most) {
      fail(ErrorCode::mismatch, "no noise up to ", most, " gives epsilon ", epsilon, " at delta ",
           delta, " for ", steps, " steps that take rows with probability ", rate);
    }
  }
  while (high - low > 1e-3 * high) {
    const double middle = (low + high) / 2;
    (cost(middle) > epsilon ? low : high) = middle;
  }
  return high;
}

}  // namespace ondine
