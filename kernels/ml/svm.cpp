#include "kernels/ml/svm.h"

#include <cmath>

namespace ondine::kernels {

SvmKernel::SvmKernel(const graph::NodeView& node) {
  const std::string kind = node.attr_string("kernel_type", "LINEAR");
  if (kind == "POLY") {
    kind_ = Kind::poly;
  } else if (kind == "RBF") {
    kind_ = Kind::rbf;
  } else if (kind == "SIGMOID") {
    kind_ = Kind::sigmoid;
  } else if (kind != "LINEAR") {
    fail(ErrorCode::invalid_model, "attribute 'kernel_type' is ", quoted(kind),
         ", not LINEAR, POLY, RBF or SIGMOID");
  }
  const std::vector<float> params = node.attr_floats("kernel_params");
  if (params.empty()) return;
  require_count("kernel_params", params.size(), 3);
  gamma_ = params[0];
  coef0_ = params[1];
  degree_ = params[2];
}

double dot(std::span<const double> x, const float* vector) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * vector[i];
  return sum;
}

double SvmKernel::operator()(std::span<const double> x, const float* vector) const {
  if (kind_ == Kind::linear) return dot(x, vector);
  if (kind_ == Kind::poly) return std::pow(gamma_ * dot(x, vector) + coef0_, degree_);
  if (kind_ == Kind::sigmoid) return std::tanh(gamma_ * dot(x, vector) + coef0_);
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - vector[i];
    distance += d * d;
  }
  return std::exp(-gamma_ * distance);
}

}  // namespace ondine::kernels
