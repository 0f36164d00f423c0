// concat.cpp — y = the inputs one after the other along an axis;  dx_i = the part of dy that came
// from x_i. The axis is 1 by default in version 1, required from 4, may be negative from 11.
#include "core/checked.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

std::int64_t axis_of(const NodeView& node) {
  if (node.version() >= 4 && !node.has_attr("axis")) {
    fail(ErrorCode::invalid_model, "attribute 'axis' is missing");
  }
  return node.attr_int("axis", 1);
}

// Known elements of a concatenation of vectors; unknown ones are dynamic.
void infer_elements(InferContext& context) {
  Dims known;
  bool any = false;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (const auto part = context.known_dims(i)) {
      known.insert(known.end(), part->begin(), part->end());
      any = true;
      continue;
    }
    const auto shape = context.input(i).shape();
    if (!shape || (*shape)[0] > 1024) return;
    known.resize(known.size() + static_cast<std::size_t>((*shape)[0]));
  }
  if (any) context.set_known_dims(0, known);
}

void infer(InferContext& context) {
  const std::int64_t axis = axis_of(context);
  std::optional<Dims> out;
  bool complete = true;
  Dim total = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (context.dtype(i) != context.dtype(0)) {
      context.reject("inputs 0 and ", i, " differ in dtype: ", context.dtype(0), " and ",
                     context.dtype(i));
    }
    if (!context.ranked(i)) {
      complete = false;
      continue;
    }
    const Dims& dims = context.dims(i);
    const std::size_t at = NodeView::normalize_axis(axis, dims.size());
    total = add(total, dims[at]);
    if (!out) {
      out = dims;
      continue;
    }
    if (dims.size() != out->size()) {
      context.reject("inputs 0 and ", i, " differ in rank: ", out->size(), " and ", dims.size());
    }
    for (std::size_t a = 0; a < dims.size(); ++a) {
      if (a != at) (*out)[a] = unify((*out)[a], dims[a], cat("dims of axis ", a));
    }
  }
  if (out) (*out)[NodeView::normalize_axis(axis, out->size())] = complete ? total : Dim();
  const bool vector = complete && out && out->size() == 1;
  context.set_output(0, context.dtype(0), std::move(out));
  if (vector && context.dtype(0) == DType::int64) infer_elements(context);
}

Kernel bind(BindContext& context) {
  const DType dtype = context.dtype(0);
  std::int64_t row = 0;  // elements of one outer row of y
  std::vector<AxisView> parts;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Shape shape = context.shape(i);
    parts.emplace_back(shape, NodeView::normalize_axis(axis_of(context), shape.rank()));
    row = checked_add(row, checked_mul(parts.back().dim, parts.back().inner));
  }
  std::vector<StridedCopy> copies;
  std::int64_t offset = 0;
  for (const AxisView& part : parts) {
    const std::int64_t length = part.dim * part.inner;
    const std::array<StridedCopy::Axis, 2> axes{{{part.outer, length, row}, {length, 1, 1}}};
    copies.emplace_back(dtype, axes, 0, offset);
    offset += length;
  }
  return [copies](KernelContext& call) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copies[i].run(call.pool(), call.in<void>(i), call.out<void>(0));
    }
  };
}

std::vector<Val> grad(GradContext& g) {
  const std::size_t n = g.input_count();
  if (n == 1) return {g.dy(0)};
  const std::int64_t axis = axis_of(g);
  std::vector<Val> dims;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t at =
        axis >= 0 || !g.x(i).ranked() ? axis : axis + static_cast<std::int64_t>(g.x(i).rank());
    dims.push_back(dim_of(g.x(i), at));
  }
  const std::array inputs{g.dy(0), concat(dims, 0)};
  return g.builder().nodes("Split", inputs, {{"axis", axis}}, n);
}

}  // namespace

extern const OpDef concat_op{
    .name = "Concat",
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .traits = {.per_sample = any_input, .cheap = true, .cannot_fail = true}};

}  // namespace ondine::kernels::ops
