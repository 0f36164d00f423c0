// Compares a derivative along a line with differences of the function, across kinks too.
#pragma once

#include <functional>

#include <ondine/dtype.h>

namespace ondine {

struct Line {
  std::function<double(double)> value;  // at a distance from the point
  std::function<double(double)> slope;  // its derivative there, which is to be judged
  double magnitude = 0;                 // of the terms that add up to the slope
};

struct DirectionalResult {
  double analytic = 0;
  double numeric = 0;
  double error = 0;  // relative to the larger of both and the magnitude
  bool passed = false;
  bool kink = false;
};

// `dtype` is what the values are computed in: float32 or float64.
//
// Central differences with ever smaller steps come first. Where kinks lie too dense for all of
// them, the mean slope along a segment must be the difference of its ends, which holds for every
// continuous function with kinks. It passes only if the slope is also continuous at the point; a
// point on a kink has no derivative, and fails with `kink` set.
DirectionalResult check_direction(const Line& line, DType dtype);

}  // namespace ondine
