// layer_normalization.cpp — y = (x - mean) / sqrt(var + epsilon) scale + bias over the axes from
// `axis` on; the statistics are outputs of the dtype that stash_type says.
// In ai.ondine: Normalize, the same without scale and bias, its statistics in x's arithmetic, and
// LayerNormalizationGrad, (dy, x, scale?, mean?, inv_std?) -> dx, dscale, dbias of the normalized
// dims; without statistics it computes them again. With centred = 0 (1) the mean is 0, as in
// RMSNormalization.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/common/stored_input.h"
#include "kernels/norm/layer_norm_primitive.h"
#include "kernels/norm/norm_rows.h"

namespace ondine::kernels::ops {
namespace {

DType arithmetic(DType x) { return x == DType::float64 ? DType::float64 : DType::float32; }

DType stash(const NodeView& node, DType x) {
  if (node.node().op->domain == ondine_domain) return arithmetic(x);
  const auto type = node.attr_int("stash_type", 1);
  if (type == static_cast<std::int64_t>(DType::bfloat16)) return DType::bfloat16;
  if (type == static_cast<std::int64_t>(DType::float32)) return DType::float32;
  fail(ErrorCode::unsupported, "stash_type must be 1 (float) or 16 (bfloat16), found ", type);
}

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const Type& x = context.input(0);
  context.set_output(0, x);
  std::optional<Dims> statistics;
  if (x.ranked()) {
    const auto axis = NodeView::normalize_axis(context.attr_int("axis", -1), x.rank());
    statistics = *x.dims;
    std::fill(statistics->begin() + static_cast<std::ptrdiff_t>(axis), statistics->end(), Dim(1));
    const Dims row(x.dims->begin() + static_cast<std::ptrdiff_t>(axis), x.dims->end());
    require_broadcast(context, 1, row, "scale");
    require_broadcast(context, 2, row, "bias");
  }
  const DType dtype = stash(context, x.dtype);
  context.set_output(1, dtype, statistics);
  context.set_output(2, dtype, statistics);
}

Kernel bind(BindContext& context) {
  const Shape shape = context.shape(0);
  const NormRows rows = norm_rows(context, shape);
  const double epsilon = context.attr_float("epsilon", 1e-5F);
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const math::LayerNormPrimitive<C> layer_norm({.rows = rows.count,
                                                  .length = rows.length,
                                                  .epsilon = epsilon,
                                                  .x_stored = storage_of<C>(context, 0)});
    context.set_implementation(layer_norm.name(), layer_norm.isa());
    Scratch scratch;
    const StoredIn<C> x(context, scratch, 0);
    const RowIn<C> scale(context, scratch, 1, shape, rows.axis);
    const RowIn<C> bias(context, scratch, 2, shape, rows.axis);
    const StoredOut<C> y(context, scratch, 0, shape.size());
    const ComputeOut<C> mean(context, scratch, 1, rows.count);
    const ComputeOut<C> inv_std(context, scratch, 2, rows.count);
    scratch.request(context);
    const bool copies = context.has_output(3);
    return [=](KernelContext& call) {
      layer_norm.run(call.pool(), {.x = x(call),
                                   .scale = scale(call),
                                   .bias = bias(call),
                                   .y = y(call),
                                   .bf16_x = copies ? call.out<std::uint16_t>(3) : nullptr,
                                   .saved_mean = mean.data(call),
                                   .saved_inv_std = inv_std.data(call)});
      y.store(call);
      mean.store(call);
      inv_std.store(call);
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  // Statistics that were rounded are computed again.
  const bool exact = stash(g, x.dtype()) == arithmetic(x.dtype());
  const bool own = g.node().op->domain == ondine_domain;
  std::vector<Val> result(3);
  if (g.dy(0)) {
    const std::vector<Val> inputs{g.dy(0), x, g.x(1), exact ? g.y(1) : Val(),
                                  exact ? g.y(2) : Val()};
    const auto parts = g.builder().nodes(
        "LayerNormalizationGrad", inputs,
        {{"axis", g.attr_int("axis", -1)}, {"epsilon", g.attr_float("epsilon", 1e-5F)}},
        own ? 1 : 3, ondine_domain);
    result[0] = parts[0];
    if (!own && g.wants(1)) result[1] = graph::sum_to(parts[1], g.x(1));
    if (!own && g.wants(2) && g.x(2)) result[2] = graph::sum_to(parts[2], g.x(2));
  }
  if (!g.dy(1) && !g.dy(2)) return result;
  // d mean / dx = 1 / length, d inv_std / dx = -inv_std^3 (x - mean) / length.
  const DType dtype = x.dtype();
  const auto axes = row_axes(g, x);
  const Val share = 1.0 / graph::reduce_sum(graph::full_like(x, 1), axes, true);
  Val dx = result[0];
  if (g.dy(1)) {
    const Val part = graph::expand_like(graph::cast(g.dy(1), dtype) * share, x);
    dx = dx ? dx + part : part;
  }
  if (g.dy(2)) {
    const Val inverse = graph::cast(g.y(2), dtype);
    const Val cube = inverse * inverse * inverse;
    const Val centred = x - graph::reduce_mean(x, axes, true);
    const Val part = -centred * (graph::cast(g.dy(2), dtype) * cube * share);
    dx = dx ? dx + part : part;
  }
  result[0] = dx;
  return result;
}

bool is_centred(const NodeView& node) { return node.attr_int("centred", 1) != 0; }

void infer_grad(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const Type& x = context.input(1);
  if (!compatible(context.input(0), x)) {
    context.reject("dy is ", graph::to_string(context.input(0)), ", x is ", graph::to_string(x));
  }
  context.set_output(0, x);
  std::optional<Dims> row;
  if (x.ranked()) {
    const auto axis = NodeView::normalize_axis(context.attr_int("axis", -1), x.rank());
    row.emplace(x.dims->begin() + static_cast<std::ptrdiff_t>(axis), x.dims->end());
    require_broadcast(context, 2, *row, "scale");
    Dim count = product(std::span(*x.dims).first(axis));
    for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
      if (context.has_input(i) && context.ranked(i)) {
        count = unify(count, product(context.dims(i)), "numbers of rows");
      }
    }
  }
  context.set_output(1, x.dtype, row);
  context.set_output(2, x.dtype, row);
}

Kernel bind_grad(BindContext& context) {
  const Shape shape = context.shape(1);
  const NormRows rows = norm_rows(context, shape);
  const double epsilon = context.attr_float("epsilon", 1e-5F);
  const bool centred = is_centred(context);
  return visit_compute(context.dtype(1), [&]<class C>() -> Kernel {
    const math::LayerNormPrimitive<C> layer_norm({.rows = rows.count,
                                                  .length = rows.length,
                                                  .backward = true,
                                                  .scaled = context.has_input(2),
                                                  .centred = centred,
                                                  .x_stored = storage_of<C>(context, 1)});
    const math::LayerNormPrimitive<C> statistics({.rows = rows.count,
                                                  .length = rows.length,
                                                  .epsilon = epsilon,
                                                  .centred = centred,
                                                  .x_stored = storage_of<C>(context, 1)});
    context.set_implementation(layer_norm.name(), layer_norm.isa());
    Scratch scratch;
    const ComputeIn<C> dy(context, scratch, 0);
    const StoredIn<C> x(context, scratch, 1);
    const RowIn<C> scale(context, scratch, 2, shape, rows.axis);
    const ComputeIn<C> mean(context, scratch, 3);
    const ComputeIn<C> inv_std(context, scratch, 4);
    const bool recompute = !mean || !inv_std;
    const std::size_t own_mean = recompute ? scratch.add<C>(rows.count) : 0;
    const std::size_t own_inv_std = recompute ? scratch.add<C>(rows.count) : 0;
    const ComputeOut<C> dx(context, scratch, 0, shape.size());
    const ComputeOut<C> dscale(context, scratch, 1, rows.length);
    const ComputeOut<C> dbias(context, scratch, 2, rows.length);
    scratch.request(context);
    return [=](KernelContext& call) {
      math::LayerNormArgs<C> args{.x = x(call),
                                  .scale = scale(call),
                                  .dy = dy(call),
                                  .mean = mean(call),
                                  .inv_std = inv_std(call),
                                  .dx = dx.data(call),
                                  .dscale = dscale.data(call),
                                  .dbias = dbias.data(call)};
      if (recompute) {
        C* m = Scratch::at<C>(call, own_mean);
        C* s = Scratch::at<C>(call, own_inv_std);
        statistics.run(call.pool(), {.x = args.x, .saved_mean = m, .saved_inv_std = s});
        args.mean = m;
        args.inv_std = s;
      }
      layer_norm.run(call.pool(), args);
      dx.store(call);
      dscale.store(call);
      dbias.store(call);
    };
  });
}

std::vector<Val> expand_grad(ExpandContext& context) {
  const Val dy = context.x(0);
  const Val x = context.x(1);
  const Val scale = context.x(2);
  const auto axes = row_axes(context, x);
  const auto row_mean = [&](Val v) { return graph::reduce_mean(v, axes, true); };
  const Val mean = context.x(3);
  Val inverse = context.x(4);
  Val centred = x;
  if (is_centred(context)) centred = x - (mean ? graph::cast(mean, x.dtype()) : row_mean(x));
  if (inverse) {
    inverse = graph::cast(inverse, x.dtype());
  } else {
    inverse = 1.0 / unary("Sqrt", row_mean(centred * centred) +
                                      double{context.attr_float("epsilon", 1e-5F)});
  }
  const Val xhat = centred * inverse;
  const Val d = scale ? dy * scale : dy;
  Val part = d - xhat * row_mean(d * xhat);
  if (is_centred(context)) part = part - row_mean(d);
  const Val dx = inverse * part;
  if (context.output_count() < 2) return {dx};
  std::vector<std::int64_t> outer;
  for (std::int64_t i = 0; i < axes.front(); ++i) outer.push_back(i);
  const auto total = [&](Val v) { return outer.empty() ? v : graph::reduce_sum(v, outer, false); };
  return {dx, total(dy * xhat), total(dy)};
}

std::vector<Val> expand_normalize(ExpandContext& context) {
  const Val x = context.x(0);
  const auto axes = row_axes(context, x);
  const Val compute = graph::cast(x, arithmetic(x.dtype()));
  const Val mean = graph::reduce_mean(compute, axes, true);
  const Val centred = compute - mean;
  const Val variance = graph::reduce_mean(centred * centred, axes, true);
  const Val inverse = 1.0 / unary("Sqrt", variance + double{context.attr_float("epsilon", 1e-5F)});
  return {graph::cast(centred * inverse, x.dtype()), mean, inverse};
}

}  // namespace

extern const OpDef layer_normalization{.name = "LayerNormalization",
                                       .infer = infer,
                                       .bind = bind,
                                       .grad = grad,
                                       .traits = {.per_sample = 1,
                                                  .is_per_sample = normalizes_rows_of_samples,
                                                  .cheap = true,
                                                  .cannot_fail = true},
                                       .rounded = {.reads = 0b1, .writes = true, .copy = 3}};
extern const OpDef normalize{.name = "Normalize",
                             .domain = ondine_domain,
                             .infer = infer,
                             .bind = bind,
                             .grad = grad,
                             .expand = expand_normalize,
                             .rounded = {.reads = 0b1}};
extern const OpDef layer_normalization_grad{.name = "LayerNormalizationGrad",
                                            .domain = ondine_domain,
                                            .infer = infer_grad,
                                            .bind = bind_grad,
                                            .grad = grad_of_expansion,
                                            .expand = expand_grad,
                                            .traits = {.cannot_fail = true},
                                            .rounded = {.reads = 0b10}};

}  // namespace ondine::kernels::ops
