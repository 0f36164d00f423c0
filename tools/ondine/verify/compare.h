// Comparison of values with expected ones.
#pragma once

#include <optional>
#include <string>

#include <ondine/value.h>

namespace ondine::cli {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

// nullopt when kind, dtype, shape and all elements are equal: floating point numbers within
// |got - want| <= absolute + relative |want| (NaN equals NaN), all others exactly. Otherwise a
// description of the difference.
std::optional<std::string> difference(const Value& got, const Value& want,
                                      const Tolerance& tolerance);
// Compares likewise, but kind, dtype and shape only.
std::optional<std::string> type_difference(const Value& got, const Value& want);

}  // namespace ondine::cli
