// array_feature_extractor.cpp — z = x[..., y], y flat; a vector x is one row. Composed of Gather.
#include "kernels/common/op.h"
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

std::vector<Val> expand(ExpandContext& context) {
  Val x = context.x(0);
  if (!x.ranked()) fail(ErrorCode::unsupported, "the rank of x must be known");
  if (x.rank() == 1) x = unsqueeze(x, {0});
  return {gather(x, graph::reshape(context.x(1), {-1}), static_cast<std::int64_t>(x.rank()) - 1)};
}

}  // namespace

extern const OpDef array_feature_extractor{.name = "ArrayFeatureExtractor",
                                           .domain = ml_domain,
                                           .infer = infer,
                                           .expand = expand,
                                           .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
