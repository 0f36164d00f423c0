#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace ondine::test {

// The root of the sum of squared differences over that of the numbers wanted.
inline double relative_difference(const std::vector<float>& found,
                                  const std::vector<float>& wanted) {
  REQUIRE(found.size() == wanted.size());
  double difference = 0, magnitude = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    difference += std::pow(double{found[i]} - double{wanted[i]}, 2);
    magnitude += std::pow(double{wanted[i]}, 2);
  }
  return std::sqrt(difference / magnitude);
}

}  // namespace ondine::test
