#include "trainer/records/curve.h"

#include <cmath>

namespace ondine::records {

void Curve::add(double x, double y) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  if (sums_.empty() || sums_.back().count == run_) {
    if (sums_.size() == max_points) {
      for (std::size_t i = 0; 2 * i < sums_.size(); ++i) {
        const Sum& a = sums_[2 * i];
        const Sum& b = sums_[2 * i + 1];
        sums_[i] = {a.x + b.x, a.y + b.y, a.count + b.count};
      }
      sums_.resize(max_points / 2);
      run_ *= 2;
    }
    sums_.emplace_back();
  }
  sums_.back().x += x;
  sums_.back().y += y;
  ++sums_.back().count;
}

std::vector<Point> Curve::points() const {
  std::vector<Point> result;
  for (const Sum& sum : sums_) {
    const auto count = static_cast<double>(sum.count);
    result.push_back({sum.x / count, sum.y / count});
  }
  return result;
}

}  // namespace ondine::records
