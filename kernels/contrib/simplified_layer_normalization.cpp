// simplified_layer_normalization.cpp — SimplifiedLayerNormalization, which onnxruntime adds to the
// domain ai.onnx: the standard's RMSNormalization, with 1 / sqrt(mean x^2 + epsilon) as an optional
// output.
#include <algorithm>

#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

DType statistics_dtype(DType x) { return x == DType::float64 ? DType::float64 : DType::float32; }

std::size_t first_axis(const NodeView& node, std::size_t rank) {
  return NodeView::normalize_axis(node.attr_int("axis", -1), rank);
}

void infer(InferContext& context) {
  check_call(context, {.required = 0b11,
                       .inputs = 2,
                       .outputs = 2,
                       .attributes = {"axis", "epsilon", "stash_type"}});
  require_floats(context, {0});
  require_floats(context, {1});
  const Type& x = context.input(0);
  std::optional<Dims> statistics;
  if (x.ranked()) {
    const auto axis = static_cast<std::ptrdiff_t>(first_axis(context, x.rank()));
    require_broadcast(context, 1, Dims(x.dims->begin() + axis, x.dims->end()), "scale");
    statistics = *x.dims;
    std::fill(statistics->begin() + axis, statistics->end(), Dim(1));
  }
  context.set_output(0, context.dtype(1), x.dims);
  context.set_output(1, statistics_dtype(x.dtype), statistics);
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(0);
  const float epsilon = context.attr_float("epsilon", 1e-5F);
  const Val y =
      context.builder().node("RMSNormalization", {x, context.x(1)},
                             {{"axis", context.attr_int("axis", -1)}, {"epsilon", epsilon}});
  if (!context.has_output(1)) return {y};
  require_rank(context, x);
  std::vector<std::int64_t> axes;
  for (std::size_t i = first_axis(context, x.rank()); i < x.rank(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const Val compute = graph::cast(x, statistics_dtype(x.dtype()));
  const Val square = graph::reduce_mean(compute * compute, axes, true);
  return {y, 1.0 / unary("Sqrt", square + double{epsilon})};
}

}  // namespace

extern const OpDef simplified_layer_normalization{
    .name = "SimplifiedLayerNormalization", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
