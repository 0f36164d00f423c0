// group_normalization.cpp — InstanceNormalization: each channel of each sample normalized, then
// multiplied by its scale and shifted by its bias; GroupNormalization: each group of channels.
// Scale and bias are per group in version 18, per channel from 21 on. Both expand into Normalize.
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer_instance(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  Dim channels;
  if (context.ranked(0)) {
    if (context.rank(0) < 2) context.reject("X must have rank 2 or more");
    channels = context.dims(0)[1];
  }
  channels = unify(channels, dims_of_rank(context, 1, 1, "scale")[0], "numbers of channels");
  unify(channels, dims_of_rank(context, 2, 1, "B")[0], "numbers of channels");
  context.set_output(0, context.input(0));
}

std::int64_t groups(const NodeView& node) {
  const std::int64_t count = node.attr_int("num_groups", 0);
  if (count < 1) fail(ErrorCode::mismatch, "num_groups is ", count, ", must be 1 or more");
  return count;
}

void infer_group(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const std::int64_t count = groups(context);
  Dim channels;
  if (context.ranked(0)) {
    if (context.rank(0) < 2) context.reject("X must have rank 2 or more");
    channels = context.dims(0)[1];
    if (channels.known() && channels.size() % count != 0) {
      context.reject(channels.size(), " channels do not divide into ", count, " groups");
    }
  }
  if (context.version() < 21) channels = count;
  channels = unify(channels, dims_of_rank(context, 1, 1, "scale")[0], "lengths of scale and bias");
  unify(channels, dims_of_rank(context, 2, 1, "bias")[0], "lengths of scale and bias");
  context.set_output(0, context.input(0));
}

Val normalize_from(const NodeView& node, Val x, std::int64_t axis) {
  return x.builder().node("Normalize", {x},
                          {{"axis", axis}, {"epsilon", node.attr_float("epsilon", 1e-5F)}},
                          ondine_domain);
}

void require_ranked(const NodeView& node, Val x) {
  if (!x.ranked()) fail(ErrorCode::unsupported, node.node().op->name, " needs a known rank");
}

// [C] to [C, 1, ...] with `more` ones.
Val trailing_ones(Val v, std::size_t more) {
  if (more == 0) return v;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < more; ++i) axes.push_back(static_cast<std::int64_t>(i) + 1);
  return graph::unsqueeze(v, axes);
}

std::vector<Val> expand_instance(ExpandContext& context) {
  const Val x = context.x(0);
  require_ranked(context, x);
  const std::size_t more = x.rank() - 2;
  // Without spatial axes every channel has one element.
  const Val spatial = more == 0 ? graph::unsqueeze(x, {2}) : x;
  Val y = normalize_from(context, spatial, 2);
  if (more == 0) y = graph::squeeze(y, {2});
  const auto row = [&](std::size_t i) {
    return trailing_ones(with_dims_of(context.x(i), {0}, x, {1}, "numbers of channels"), more);
  };
  return {y * row(1) + row(2)};
}

std::vector<Val> expand_group(ExpandContext& context) {
  require_ranked(context, context.x(0));
  const std::int64_t count = groups(context);
  const Val x = with_multiple(context.x(0), 1, count, "channels in groups");
  const std::size_t more = x.rank() - 2;
  const Val grouped = graph::reshape(x, {0, count, -1});
  const Val y = normalize_from(context, grouped, 2);
  if (context.version() < 21) {
    const auto row = [&](std::size_t i) {
      return trailing_ones(with_dim(context.x(i), 0, count, "lengths of scale and bias"), 1);
    };
    return {graph::reshape_like(y * row(1) + row(2), x)};
  }
  const auto row = [&](std::size_t i) {
    return trailing_ones(with_dims_of(context.x(i), {0}, x, {1}, "lengths of scale and bias"),
                         more);
  };
  return {graph::reshape_like(y, x) * row(1) + row(2)};
}

}  // namespace

extern const OpDef instance_normalization{
    .name = "InstanceNormalization", .infer = infer_instance, .expand = expand_instance};
extern const OpDef group_normalization{
    .name = "GroupNormalization", .infer = infer_group, .expand = expand_group};

}  // namespace ondine::kernels::ops
