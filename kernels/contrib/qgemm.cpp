// qgemm.cpp — com.microsoft QGemm: alpha op(a) op(b) + c of quantized a and b, transposed where
// transA or transB says so; b has one scale or one for each column of op(b); c is int32 in steps
// of alpha times both scales. With a scale of y it is quantized, else a float.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  a_in,
  a_scale_in,
  a_point_in,
  b_in,
  b_scale_in,
  b_point_in,
  c_in,
  y_scale_in,
  y_point_in
};

bool flag(const NodeView& node, const char* name) { return node.attr_int(name, 0) != 0; }

void infer(InferContext& context) {
  check_call(context,
             {.required = 0b111111, .inputs = 9, .attributes = {"alpha", "transA", "transB"}});
  require_quantized(context, a_in, a_scale_in, a_point_in);
  require_quantized(context, b_in, b_scale_in, b_point_in);
  if (context.has_input(c_in) && context.dtype(c_in) != DType::int32) {
    context.reject("C is ", context.dtype(c_in), ", needed: int32");
  }
  const bool trans_a = flag(context, "transA");
  const bool trans_b = flag(context, "transB");
  const Dims a = dims_of_rank(context, a_in, 2, "A");
  const Dims b = dims_of_rank(context, b_in, 2, "B");
  unify(a[trans_a ? 0 : 1], b[trans_b ? 1 : 0], "inner dimensions");
  const DType dtype = !context.has_input(y_scale_in)  ? context.dtype(a_scale_in)
                      : context.has_input(y_point_in) ? context.dtype(y_point_in)
                                                      : context.dtype(a_in);
  context.set_output(0, dtype, Dims{a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]});
}

std::vector<Val> expand(ExpandContext& context) {
  const Val a = dequantize(context.x(a_in), context.x(a_scale_in), context.x(a_point_in));
  // Scales are over the columns of op(b).
  Val b = context.x(b_in);
  if (flag(context, "transB")) b = graph::transpose(b, {1, 0});
  b = dequantize(b, context.x(b_scale_in), context.x(b_point_in));
  Val c;
  if (const Val steps = context.x(c_in)) {
    c = graph::cast(steps, a.dtype()) * (context.x(a_scale_in) * context.x(b_scale_in));
  }
  const float alpha = context.attr_float("alpha", 1);
  const Val y = context.builder().node(
      "Gemm", {a, b, c},
      {{"alpha", alpha}, {"beta", alpha}, {"transA", std::int64_t{flag(context, "transA")}}});
  const Val scale = context.x(y_scale_in);
  if (!scale) return {y};
  const Val point = context.x(y_point_in);
  return {quantize(y, scale, point, point ? point.dtype() : context.x(a_in).dtype())};
}

}  // namespace

extern const OpDef qgemm{
    .name = "QGemm", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
