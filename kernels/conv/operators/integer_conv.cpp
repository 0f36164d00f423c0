#include "kernels/conv/operators/integer_conv.h"

#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_shape.h"

namespace ondine::kernels::ops {

void check_conv_parameter(const InferContext& context, std::size_t p, Dim count,
                          std::string_view what) {
  if (!context.has_input(p) || !context.ranked(p)) return;
  const Dims& dims = context.dims(p);
  if (dims.size() > 1) context.reject(what, " must have rank 0 or 1, found ", dims.size());
  if (dims.size() == 1 && !dims[0].same(Dim(1))) unify(dims[0], count, what);
}

void infer_integer_conv(InferContext& context, std::size_t w, DType result) {
  context.set_output(0, result,
                     conv_dims(context, dims_if_ranked(context, 0), dims_if_ranked(context, w)));
}

Val over_channels(Val p, std::size_t trailing) {
  if (!p || !p.ranked() || p.rank() != 1 || p.dims()[0].same(Dim(1))) return p;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < trailing; ++i) axes.push_back(static_cast<std::int64_t>(i) + 1);
  return graph::unsqueeze(p, axes);
}

}  // namespace ondine::kernels::ops
