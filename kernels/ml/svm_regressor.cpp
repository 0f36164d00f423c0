// svm_regressor.cpp — y = sum_j c_j K(x, v_j) + rho, or c x + rho without support vectors; its sign
// as 1 or -1 for one class; transformed.
#include "core/stop.h"
#include "kernels/common/op.h"
#include "kernels/ml/svm.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  read_post_transform(context);
  infer_scores(context, 0, DType::float32, 1);
}

Kernel bind(BindContext& context) {
  const SvmKernel kernel(context);
  const auto features = static_cast<std::size_t>(feature_count(context));
  const std::vector<float> rho = context.attr_floats("rho");
  if (rho.empty()) fail(ErrorCode::invalid_model, "attribute 'rho' has no elements");
  const std::vector<float> c = context.attr_floats("coefficients");
  const std::vector<float> vectors = context.attr_floats("support_vectors");
  const std::int64_t supports = context.attr_int("n_supports", 0);
  if (supports < 0) fail(ErrorCode::invalid_model, "attribute 'n_supports' is ", supports);
  const std::size_t count = row_length(supports);
  require_count("coefficients", c.size(), count > 0 ? count : features);
  if (count > 0) require_count("support_vectors", vectors.size(), elements_of(c.size(), features));
  const bool one_class = context.attr_int("one_class", 0) != 0;
  return bind_regressor(
      context, {.columns = 1,
                .transform = read_post_transform(context),
                .score = [=](std::span<const double> x, std::span<double> y, std::span<double>) {
                  double sum = rho[0];
                  if (count == 0) sum += dot(x, c.data());
                  for (std::size_t j = 0; j < count; ++j) {
                    checkpoint(2 * static_cast<std::int64_t>(features) + 32);
                    sum += c[j] * kernel(x, vectors.data() + j * features);
                  }
                  y[0] = !one_class ? sum : sum > 0 ? 1 : -1;
                  return std::size_t{0};
                }});
}

}  // namespace

extern const OpDef svm_regressor{
    .name = "SVMRegressor", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
