// A value over the steps of a run, in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ondine::records {

struct Point {
  double x = 0;
  double y = 0;
};

// Means over runs of neighbouring values; the runs double in length when there are too many points.
// Values that are not finite are left out.
class Curve {
 public:
  void add(double x, double y);
  std::vector<Point> points() const;

 private:
  struct Sum {
    double x = 0;
    double y = 0;
    std::uint64_t count = 0;
  };
  static constexpr std::size_t max_points = 1000;

  std::vector<Sum> sums_;
  std::uint64_t run_ = 1;  // values in a sum
};

}  // namespace ondine::records
