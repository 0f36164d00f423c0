#include "tests/fuzz/close_values.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ondine::test {
namespace {

double unit_of(DType dtype) { return dtype == DType::float64 ? 1e-7 : 1e-4; }

// Element of a float32 or float64 tensor, the types in which most is computed; none for others.
std::optional<double> element(const Tensor& tensor, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (tensor.dtype() == DType::float32) return tensor.values<float>()[at];
  if (tensor.dtype() == DType::float64) return tensor.values<double>()[at];
  return std::nullopt;
}

bool close(const Tensor& got, const Tensor& wanted, const Tensor& disturbed) {
  if (got.dtype() != wanted.dtype() || !(got.shape() == wanted.shape())) return false;
  if (got.size() == 0) return true;
  // Integers and the like hold what arithmetic in floats decided: equal unless that is unstable.
  if (!element(wanted, 0)) {
    return got.identical(wanted) || !disturbed.identical(wanted) ||
           is_differentiable(wanted.dtype());
  }
  if (!(disturbed.shape() == wanted.shape())) return true;
  double scale = 0;
  double moved = 0;
  for (std::int64_t i = 0; i < wanted.size(); ++i) {
    const double w = *element(wanted, i);
    const double d = *element(disturbed, i);
    if (!std::isfinite(w) || std::fabs(w) > 1e6 || !std::isfinite(d)) return true;
    scale = std::max(scale, std::fabs(w));
    moved = std::max(moved, std::fabs(w - d));
  }
  for (std::int64_t i = 0; i < wanted.size(); ++i) {
    const double difference = std::fabs(*element(got, i) - *element(wanted, i));
    if (!(difference <= unit_of(wanted.dtype()) * (1 + scale) + 100 * moved)) return false;
  }
  return true;
}

}  // namespace

bool close_values(const Value& got, const Value& wanted, const Value& disturbed) {
  if (got.kind() != wanted.kind()) return false;
  if (wanted.is_tensor()) return close(got.tensor(), wanted.tensor(), disturbed.tensor());
  const bool holds =
      wanted.kind() == Value::Kind::sequence || wanted.kind() == Value::Kind::optional;
  if (!holds || disturbed.elements().size() != wanted.elements().size()) return true;
  if (got.elements().size() != wanted.elements().size()) return false;
  for (std::size_t i = 0; i < wanted.elements().size(); ++i) {
    if (!close_values(got.elements()[i], wanted.elements()[i], disturbed.elements()[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace ondine::test
