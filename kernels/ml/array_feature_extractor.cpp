// array_feature_extractor.cpp — z = x[..., y], y flat; a vector x is one row;  dx = zeros with the
// elements of dz added at their indices (GatherGrad).
#include <algorithm>
#include <span>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"
#include "kernels/ml/post_transform.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (!context.ranked(0)) return context.set_output(0, context.dtype(0), std::nullopt);
  Dims dims = context.dims(0);
  if (dims.empty()) context.reject("x must have rank 1 or more, found a scalar");
  if (const Tensor* indices = context.constant(1)) {
    for (const std::int64_t index : indices->values<std::int64_t>()) {
      if (index < 0 || (dims.back().known() && index >= dims.back().size())) {
        context.reject("index ", index, " is outside of the last axis of ", graph::to_string(dims));
      }
    }
  }
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  dims.back() = context.ranked(1) ? graph::product(context.dims(1)) : Dim();
  context.set_output(0, context.dtype(0), std::move(dims));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const AxisView view(x, x.rank() - 1);
  const std::int64_t n = context.shape(1).size();
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, n));
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const std::span indices(call.in<std::int64_t>(1), static_cast<std::size_t>(n));
      for (const std::int64_t index : indices) {
        if (index >= 0 && index < view.dim) continue;
        fail(ErrorCode::mismatch, "index ", index, " is outside of the last axis of ", x);
      }
      const T* from = call.in<T>(0);
      T* to = call.out<T>(0);
      call.pool().for_chunks(view.outer, grain, [&](std::int64_t first, std::int64_t last) {
        for (auto row = first; row < last; ++row) {
          for (std::int64_t i = 0; i < n; ++i) {
            to[row * n + i] = from[row * view.dim + indices[static_cast<std::size_t>(i)]];
          }
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  if (!x.ranked()) fail(ErrorCode::unsupported, "the rank of x must be known");
  const Val dy = x.rank() == 1 ? graph::reshape(g.dy(0), {-1}) : g.dy(0);
  return {g.builder().node("GatherGrad", {dy, graph::reshape(g.x(1), {-1}), shape_of(x)},
                           {{"axis", static_cast<std::int64_t>(x.rank()) - 1}}, ondine_domain)};
}

}  // namespace

extern const OpDef array_feature_extractor{.name = "ArrayFeatureExtractor",
                                           .domain = ml_domain,
                                           .infer = infer,
                                           .bind = bind,
                                           .grad = grad,
                                           .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
