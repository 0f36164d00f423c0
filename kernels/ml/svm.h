// Kernels of support vector machines.
#pragma once

#include <span>

#include "kernels/ml/row_model.h"

namespace ondine::kernels {

// LINEAR a b, POLY (gamma a b + coef0)^degree, RBF exp(-gamma |a - b|^2), SIGMOID
// tanh(gamma a b + coef0).
class SvmKernel {
 public:
  explicit SvmKernel(const graph::NodeView& node);
  double operator()(std::span<const double> x, const float* vector) const;

 private:
  enum class Kind { linear, poly, rbf, sigmoid } kind_ = Kind::linear;
  double gamma_ = 0;
  double coef0_ = 0;
  double degree_ = 0;
};

double dot(std::span<const double> x, const float* vector);

}  // namespace ondine::kernels
