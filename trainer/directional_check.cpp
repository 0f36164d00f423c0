#include "trainer/directional_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ondine {
namespace {

struct DifferencePrecision {
  double epsilon;     // of the rounding errors that are allowed for
  double step;        // of central differences
  double tolerance;   // of relative errors
  double resolution;  // what kinks inside a segment may hide
};

// Truncation and rounding errors of central differences balance near the cube root of epsilon.
DifferencePrecision precision_of(DType dtype) {
  return dtype == DType::float64 ? DifferencePrecision{0x1p-52, 1e-6, 1e-5, 1e-2}
                                 : DifferencePrecision{0, 4e-3, 5e-2, 5e-2};
}

// Slopes in the middle of equal parts of [-step, step].
struct Slopes {
  double mean = 0;
  double range = 0;
  bool bends = false;  // changes abruptly: a second difference is of the size of the range
};

Slopes sample(const Line& line, double step, int count) {
  std::vector<double> at;
  for (int i = 0; i < count; ++i) at.push_back(line.slope(step * (2 * i + 1 - count) / count));
  const auto [least, most] = std::minmax_element(at.begin(), at.end());
  Slopes result{0, *most - *least, false};
  for (const double one : at) result.mean += one / count;
  for (std::size_t i = 2; i < at.size(); ++i) {
    const double second = std::abs(at[i] - 2 * at[i - 1] + at[i - 2]);
    result.bends = result.bends || second > result.range / 4;
  }
  return result;
}

class Check {
 public:
  Check(const Line& line, DType dtype)
      : line_(&line), by_(precision_of(dtype)), wide_(dtype == DType::float64) {}

  DirectionalResult run() const {
    const double slope = line_->slope(0);
    const DirectionalResult first = central(slope, by_.step);
    if (first.passed) return first;
    for (double step = by_.step / 10; wide_ && step > 5e-13; step /= 10) {
      DirectionalResult smaller = central(slope, step);
      if (!smaller.passed) continue;
      smaller.kink = sample(*line_, by_.step, 8).bends;
      return smaller;
    }
    DirectionalResult result = first;
    const bool has_derivative = is_continuous(slope);
    for (double step = (wide_ ? 100 : 4) * by_.step; step > 0.05 * by_.step; step /= 10) {
      const DirectionalResult along = across(step);
      if (along.passed && has_derivative) return along;
      result.kink = result.kink || (along.kink && !has_derivative);
    }
    return result;
  }

 private:
  // Differences of values of size f carry rounding errors of about epsilon f.
  DirectionalResult compare(double analytic, double step, double& allowed) const {
    const double up = line_->value(step);
    const double down = line_->value(-step);
    DirectionalResult result;
    result.analytic = analytic;
    result.numeric = (up - down) / (2 * step);
    // Terms that cancel along the direction leave rounding errors of their size.
    const double scale = scale_of(result);
    result.error = std::abs(result.analytic - result.numeric) / scale;
    const double rounding =
        64 * by_.epsilon * std::max(std::abs(up), std::abs(down)) / (step * scale);
    // Tiny steps say something only through differences that rounding leaves exact enough.
    const double cap = (step > 5e-11 ? 1000 : 1) * by_.tolerance;
    allowed = by_.tolerance + std::min(rounding, cap);
    return result;
  }

  double scale_of(const DirectionalResult& result) const {
    return std::max({std::abs(result.analytic), std::abs(result.numeric), line_->magnitude, 1e-6});
  }

  DirectionalResult central(double slope, double step) const {
    double allowed = 0;
    DirectionalResult result = compare(slope, step, allowed);
    result.passed = result.error <= allowed;
    return result;
  }

  // The mean of `count` slopes leaves out at most the part of a kink's jump between two of them.
  DirectionalResult across(double step) const {
    DirectionalResult result;
    for (const int count : {16, 64}) {
      const Slopes slopes = sample(*line_, step, count);
      double allowed = 0;
      result = compare(slopes.mean, step, allowed);
      const double unresolved = slopes.range / count / scale_of(result);
      result.kink = slopes.bends;
      if (!(result.error <= allowed + unresolved)) {
        result.kink = false;
        return result;
      }
      result.passed = unresolved <= by_.resolution;
      if (result.passed) return result;
    }
    return result;
  }

  // Unlike those of differences, rounding errors of slopes do not grow as steps shrink.
  bool is_continuous(double slope) const {
    const double allowed = by_.tolerance * std::max({std::abs(slope), line_->magnitude, 1e-6});
    for (double step = by_.step; step > (wide_ ? 1e-7 : 1e-2) * by_.step; step /= 10) {
      if (std::abs(line_->slope(step) - slope) <= allowed &&
          std::abs(line_->slope(-step) - slope) <= allowed) {
        return true;
      }
    }
    return false;
  }

  const Line* line_;
  DifferencePrecision by_;
  bool wide_;
};

}  // namespace

DirectionalResult check_direction(const Line& line, DType dtype) {
  return Check(line, dtype).run();
}

}  // namespace ondine
