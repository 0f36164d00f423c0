// batch_normalization.cpp — y = (x - mean) / sqrt(var + epsilon) scale + bias per channel, the
// statistics being inputs (inference) or those of the batch (training), population variance;
// running = old momentum + batch (1 - momentum). Training: before version 7 without is_test, in 7
// and 9 with more than one output, from 14 on with training_mode. spatial = 0 (until 7) normalizes
// each activation by itself. Outputs 3 and 4 are the mean and variance used, kept for the
// derivative.
#include "kernels/norm/batch_normalization.h"

#include <limits>
#include <tuple>

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/norm/batch_norm_primitive.h"

namespace ondine::kernels::ops {
namespace {

// BatchNormalizationActivation has the attributes of the newest version.
bool is_fused(const NodeView& node) { return !node.node().op->domain.empty(); }

bool training(const NodeView& node) {
  if (is_fused(node) || node.version() >= 14) return node.attr_int("training_mode", 0) != 0;
  if (node.version() >= 7) {
    for (std::size_t i = 1; i < 3; ++i) {
      if (node.has_output(i)) return true;
    }
    return false;
  }
  return node.attr_int("is_test", 0) == 0;
}

bool spatial(const NodeView& node) {
  return is_fused(node) || node.version() >= 9 || node.attr_int("spatial", 1) != 0;
}

}  // namespace

DType saved_dtype(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : dtype;
}

Dim channel_count(const Dims& x, bool per_channel) {
  if (x.empty()) fail(ErrorCode::mismatch, "X must have rank 1 or more");
  if (x.size() == 1) return 1;
  return per_channel ? x[1] : product(std::span(x).subspan(1));
}

math::ChannelShape channel_shape(const Shape& x, bool per_channel) {
  if (x.rank() == 1) return {x[0], 1, 1};
  if (!per_channel) return {x[0], x.size(1, x.rank()), 1};
  return {x[0], x[1], x.size(2, x.rank())};
}

void infer_batch_statistics(InferContext& context) {
  const bool per_channel = spatial(context);
  Dim count;
  if (context.ranked(0)) count = channel_count(context.dims(0), per_channel);
  for (std::size_t i = 1; i < 5; ++i) {
    if (!context.ranked(i)) continue;
    if (per_channel && context.rank(i) != 1) {
      context.reject("input ", i, " must have rank 1, found ", graph::to_string(context.dims(i)));
    }
    count = unify(count, product(context.dims(i)), "numbers of channels");
  }
  for (std::size_t i = 1; i < 5; ++i) {
    Type type = context.input(i == 1 || i == 3 ? 3 : 4);
    if (i >= 3) type.dtype = saved_dtype(type.dtype);
    context.set_output(i, type);
  }
}

void infer_batch_normalization(InferContext& context) {
  infer_batch_statistics(context);
  if (context.has_input(5) && !compatible(context.input(0), context.input(5))) {
    context.reject("x is ", graph::to_string(context.input(0)), ", the addend is ",
                   graph::to_string(context.input(5)));
  }
  context.set_output(0, context.input(0));
}

ActivationBounds activation_bounds(const NodeView& node) {
  const bool relu = node.attr_int("relu", 0) != 0;
  return {.low = node.attr_float("low", relu ? 0 : -std::numeric_limits<float>::infinity()),
          .high = node.attr_float("high", std::numeric_limits<float>::infinity()),
          .above_low = relu};
}

math::BatchNormDesc normalization_desc(const NodeView& node) {
  const ActivationBounds bounds = activation_bounds(node);
  const std::string activation = node.attr_string("activation", "");
  math::BatchNormDesc desc;
  desc.epsilon = node.attr_float("epsilon", 1e-5F);
  desc.low = bounds.low;
  desc.high = bounds.high;
  if (activation == "HardSwish") desc.activation = math::Activation::hard_swish;
  if (activation == "Swish") desc.activation = math::Activation::swish;
  desc.alpha = node.attr_float("alpha", 1.0F);
  return desc;
}

namespace {

math::BatchNormDesc forward_desc(BindContext& context, math::Storage x_stored) {
  math::BatchNormDesc desc = normalization_desc(context);
  desc.shape = channel_shape(context.shape(0), spatial(context));
  desc.pass = training(context) ? math::BatchNormPass::training : math::BatchNormPass::inference;
  desc.x_stored = x_stored;
  return desc;
}

template <class C>
Kernel bind_as(BindContext& context) {
  const bool train = training(context);
  const math::BatchNormDesc desc = forward_desc(context, storage_of<C>(context, 0));
  const std::int64_t n = desc.shape.channels;
  const RunningStatistic<C> running{train, static_cast<C>(context.attr_float("momentum", 0.9F)), n};
  const math::BatchNormPrimitive<C> batch_norm(desc);
  context.set_implementation(batch_norm.name(), batch_norm.isa());
  Scratch scratch;
  const StoredIn<C> x(context, scratch, 0);
  const ComputeIn<C> scale(context, scratch, 1);
  const ComputeIn<C> bias(context, scratch, 2);
  const ComputeIn<C> mean(context, scratch, 3);
  const ComputeIn<C> variance(context, scratch, 4);
  const ComputeIn<C> addend(context, scratch, 5);
  const ComputeOut<C> y(context, scratch, 0, context.shape(0).size(), true);
  const ComputeOut<C> new_mean(context, scratch, 1, n);
  const ComputeOut<C> new_variance(context, scratch, 2, n);
  const ComputeOut<C> used_mean(context, scratch, 3, n, true);
  const ComputeOut<C> used_variance(context, scratch, 4, n, true);
  scratch.request(context);
  const bool copies = context.has_output(5);
  return [=](KernelContext& call) {
    const C* old_mean = mean(call);
    const C* old_variance = variance(call);
    C* m = used_mean.data(call);
    C* v = used_variance.data(call);
    const auto normalize = [&] {
      batch_norm.run(call.pool(), {.x = x(call),
                                   .scale = scale(call),
                                   .bias = bias(call),
                                   .mean = m,
                                   .variance = v,
                                   .addend = addend(call),
                                   .y = y.data(call),
                                   .bf16_x = copies ? call.out<std::uint16_t>(5) : nullptr,
                                   .batch_mean = m,
                                   .batch_variance = v});
    };
    if (train) {
      normalize();
    } else {
      std::copy_n(old_mean, n, m);
      std::copy_n(old_variance, n, v);
    }
    running.write(call, new_mean, old_mean, m);
    running.write(call, new_variance, old_variance, v);
    if (!train) normalize();
    y.store(call);
    used_mean.store(call);
    used_variance.store(call);
  };
}

}  // namespace

Kernel bind_batch_normalization(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

bool normalizes_samples(const graph::Node& node, const graph::Graph&) {
  return !training(NodeView(node));
}

bool repeat_batch_normalization(graph::Node& copy) {
  const NodeView view(copy);
  const bool by_outputs = !is_fused(view) && view.version() >= 7 && view.version() < 14;
  if (!is_fused(view) && view.version() < 7) return true;
  // From version 7 to 13 a node without its other outputs does not know that it trains.
  if (!view.has_output(3) || !view.has_output(4)) return !by_outputs || !training(view);
  copy.inputs[3] = copy.outputs[3];
  copy.inputs[4] = copy.outputs[4];
  std::erase_if(copy.attributes, [](const auto& each) { return each.name == "training_mode"; });
  copy.attributes.emplace_back("training_mode", std::int64_t{0});
  return true;
}

Val per_channel(Val v, Val x, bool spatial_statistics) {
  if (!spatial_statistics) return v;
  std::vector<std::int64_t> axes;
  if (x.rank() > 1) axes.push_back(0);
  for (std::size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes.empty() ? v : graph::unsqueeze(v, axes);
}

std::vector<std::int64_t> batch_axes(Val x, bool spatial_statistics) {
  if (!x.ranked()) {
    fail(ErrorCode::unsupported, "the derivative of BatchNormalization needs a known rank");
  }
  std::vector<std::int64_t> axes{0};
  for (std::size_t i = 2; spatial_statistics && i < x.rank(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes;
}

std::pair<Val, Val> batch_statistics(Val x, DType dtype) {
  const Val compute = graph::cast(x, dtype);
  const auto axes = batch_axes(x, true);
  const Val mean = graph::reduce_mean(compute, axes, true);
  const Val centred = compute - mean;
  return {graph::reshape(mean, {-1}), graph::reduce_mean(centred * centred, axes, false)};
}

namespace {

Val sum_or_none(Val a, Val b) { return a && b ? a + b : a ? a : b; }

std::vector<Val> grad(GradContext& g) {
  const bool train = training(g);
  const bool spatial_statistics = spatial(g);
  const Val x = g.x(0);
  const Val scale = g.x(1);
  const Val mean = g.y(3);
  const Val variance = g.y(4);
  const double epsilon = g.attr_float("epsilon", 1e-5F);
  const double momentum = g.attr_float("momentum", 0.9F);
  std::vector<Val> result(5);
  std::vector<Val> parts(3);
  if (g.dy(0)) {
    const std::vector<Val> inputs{g.dy(0), x, scale, mean, variance};
    parts = g.builder().nodes("BatchNormalizationGrad", inputs,
                              {{"epsilon", g.attr_float("epsilon", 1e-5F)},
                               {"constant_statistics", std::int64_t{!train}},
                               {"spatial", std::int64_t{spatial_statistics}}},
                              3, ondine_domain);
    result[1] = parts[1];
    result[2] = parts[2] ? graph::cast(parts[2], g.x(2).dtype()) : Val();
  }
  Val dx = parts[0];
  // The share that passes through the statistics: as outputs, or saved for a higher derivative.
  const auto through = [&](std::size_t running, std::size_t used, double share) {
    Val running_part = g.dy(running);
    if (running_part && train) running_part = running_part * share;
    const Val kept = g.dy(used);
    return sum_or_none(running_part ? graph::cast(running_part, x.dtype()) : Val(),
                       kept ? graph::cast(kept, x.dtype()) : Val());
  };
  Val dmean = through(1, 3, 1 - momentum);
  Val dvariance = through(2, 4, 1 - momentum);
  if (!train) {
    // mean and variance are inputs: dy reaches them by the formula, saved ones directly.
    if (parts[1]) {
      const Val denominator = graph::cast(variance, x.dtype()) + epsilon;
      const Val s = graph::cast(scale, x.dtype());
      const Val by_mean = -graph::cast(parts[2], x.dtype()) * s / unary("Sqrt", denominator);
      const Val by_variance = graph::cast(parts[1], x.dtype()) * s / denominator * -0.5;
      dmean = sum_or_none(dmean, g.wants(3) ? by_mean : Val());
      dvariance = sum_or_none(dvariance, g.wants(4) ? by_variance : Val());
    }
    if (dmean) result[3] = graph::cast(dmean, g.x(3).dtype());
    if (dvariance) result[4] = graph::cast(dvariance, g.x(4).dtype());
  } else {
    // d mean / dx = 1 / count and d var / dx = 2 (x - mean) / count: as means over the batch.
    const Val ones = dmean || dvariance ? graph::full_like(x, 1) : Val();
    const auto spread = [&](Val v) {
      const Val count = graph::reduce_sum(ones, batch_axes(x, spatial_statistics), true);
      return per_channel(v, x, spatial_statistics) / count;
    };
    if (dmean) dx = sum_or_none(dx, graph::expand_like(spread(dmean), x));
    if (dvariance) {
      const Val centred = x - per_channel(graph::cast(mean, x.dtype()), x, spatial_statistics);
      dx = sum_or_none(dx, centred * (spread(dvariance) * 2));
    }
    if (g.dy(1)) result[3] = g.dy(1) * momentum;
    if (g.dy(2)) result[4] = g.dy(2) * momentum;
  }
  result[0] = dx;
  return result;
}

// The newest form, which has neither the statistics that this one saves nor spatial = 0.
std::vector<Val> expand(ExpandContext& context) {
  if (!spatial(context)) {
    fail(ErrorCode::unsupported, "statistics of each position have no form since version 9");
  }
  const bool train = training(context);
  const Val x = context.x(0);
  std::vector<Val> inputs;
  for (std::size_t i = 0; i < 5; ++i) inputs.push_back(context.x(i));
  auto result = context.builder().nodes("BatchNormalization", inputs,
                                        {{"epsilon", context.attr_float("epsilon", 1e-5F)},
                                         {"momentum", context.attr_float("momentum", 0.9F)},
                                         {"training_mode", std::int64_t{train}}},
                                        train ? 3 : 1);
  result.resize(5);
  if (!train) {
    result[1] = result[3] = inputs[3];
    result[2] = result[4] = inputs[4];
    return result;
  }
  if (!context.has_output(3) && !context.has_output(4)) return result;
  std::tie(result[3], result[4]) = batch_statistics(x, saved_dtype(inputs[3].dtype()));
  return result;
}

}  // namespace

extern const OpDef batch_normalization{.name = "BatchNormalization",
                                       .infer = infer_batch_normalization,
                                       .bind = bind_batch_normalization,
                                       .grad = grad,
                                       .expand = expand,
                                       .traits = {.inplace = 0b1,
                                                  .per_sample = 0b1,
                                                  .is_per_sample = normalizes_samples,
                                                  .cheap = true,
                                                  .cannot_fail = true},
                                       .make_repeatable = repeat_batch_normalization,
                                       .rounded = {.reads = 0b1, .copy = 5}};
}  // namespace ondine::kernels::ops
