#include "trainer/records/curve.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

using namespace ondine;
using namespace ondine::records;

namespace {

constexpr std::size_t max_points = 1000;

// Means of `run` consecutive numbers of 0, 1, ... n - 1 and of their squares.
std::vector<Point> means(std::size_t n, std::size_t run) {
  std::vector<Point> result;
  for (std::size_t first = 0; first < n; first += run) {
    const std::size_t last = std::min(first + run, n);
    Point sum{};
    for (std::size_t i = first; i < last; ++i) {
      const auto x = static_cast<double>(i);
      sum.x += x / static_cast<double>(last - first);
      sum.y += x * x / static_cast<double>(last - first);
    }
    result.push_back(sum);
  }
  return result;
}

}  // namespace

TEST_CASE("a curve has the means of runs, the shortest ones that keep it short") {
  Curve curve;
  CHECK(curve.points().empty());
  std::size_t run = 1;
  for (std::size_t n = 1; n <= 4 * max_points + 3; ++n) {
    const auto x = static_cast<double>(n - 1);
    curve.add(x, x * x);
    while (run * max_points < n) run *= 2;
    if (n % max_points > 3 && n % 97 != 0) continue;
    const auto expected = means(n, run);
    const auto found = curve.points();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].x == Approx(expected[i].x));
      CHECK(found[i].y == Approx(expected[i].y));
    }
  }
}

TEST_CASE("a curve leaves out points that are not finite in x or in y") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Curve curve;
  curve.add(1, nan);
  curve.add(infinity, 2);
  curve.add(3, 4);
  curve.add(nan, nan);
  curve.add(5, -infinity);
  const auto points = curve.points();
  REQUIRE(points.size() == 1);
  CHECK(points[0].x == 3);
  CHECK(points[0].y == 4);
}
