// Mean and standard deviation of numbers that come one after the other.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace ondine::tune {

// Mean and deviation, computed by the recurrence of B. P. Welford, Technometrics 4 (1962).
class Moments {
 public:
  void add(double value) {
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
  }
  double mean() const { return mean_; }
  // 1 where all numbers are the same, so that one can divide by it.
  double deviation() const {
    const double result = count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
    const double least = 1e-6 * std::abs(mean_);
    return result > least && result > 1e-30 ? result : 1;
  }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

struct Scales {
  std::vector<float> mean;
  std::vector<float> deviation;
};

inline Scales scales_of(const std::vector<Moments>& moments) {
  Scales scales;
  for (const Moments& one : moments) {
    scales.mean.push_back(static_cast<float>(one.mean()));
    scales.deviation.push_back(static_cast<float>(one.deviation()));
  }
  return scales;
}

}  // namespace ondine::tune
