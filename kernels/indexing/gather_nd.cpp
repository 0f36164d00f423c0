// gather_nd.cpp — y = the slices of x whose leading coordinates the last axis of `indices` holds;
// dx = dy added to zeros at the same positions (GatherNDGrad). Version 12 adds batch_dims.
#include "kernels/common/expansion.h"
#include "kernels/indexing/element_offsets.h"

namespace ondine::kernels::ops {
namespace {

std::size_t batch_dims(const NodeView& node) {
  const std::int64_t n = node.attr_int("batch_dims", 0);
  if (n < 0) fail(ErrorCode::mismatch, "batch_dims is ", n);
  return static_cast<std::size_t>(n);
}

void infer(InferContext& context) {
  if (!context.ranked(0) || !context.ranked(1)) {
    return context.set_output(0, context.dtype(0), std::nullopt);
  }
  const Dims& x = context.dims(0);
  const Dims& indices = context.dims(1);
  const std::size_t batch = batch_dims(context);
  if (indices.size() <= batch || x.size() <= batch) {
    context.reject(batch, " batch axes for indices of rank ", indices.size(),
                   " and a tensor of rank ", x.size());
  }
  if (!indices.back().known()) return context.set_output(0, context.dtype(0), std::nullopt);
  const std::int64_t k = indices.back().size();
  if (k > static_cast<std::int64_t>(x.size() - batch)) {
    context.reject(k, " coordinates for a tensor of rank ", x.size(), " with ", batch,
                   " batch axes");
  }
  Dims y(indices.begin(), indices.end() - 1);
  for (std::size_t a = 0; a < batch; ++a) y[a] = unify(y[a], x[a], "batch dims");
  y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(batch) + k, x.end());
  context.set_output(0, context.dtype(0), std::move(y));
}

Kernel bind(BindContext& context) {
  return gather_kernel(context.dtype(0), ElementOffsets::of_slices(context, 1, context.shape(0),
                                                                   batch_dims(context)));
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("GatherNDGrad", {g.dy(0), g.x(1), shape_of(g.x(0))},
                           {{"batch_dims", g.attr_int("batch_dims", 0)}}, ondine_domain)};
}

// ai.ondine GatherNDGrad(dy, indices, shape);  d dy = GatherND(ddx, indices).
void infer_grad(InferContext& context) {
  context.set_output(0, context.dtype(0), dims_from_input(context, 2));
}

Kernel bind_grad(BindContext& context) {
  const auto shape = context.output_shape(0);
  if (!shape) fail(ErrorCode::internal, "the shape of a derivative is not known");
  const ElementOffsets offsets = ElementOffsets::of_slices(context, 1, *shape, batch_dims(context));
  if (context.shape(0).size() != offsets.count() * offsets.length()) {
    fail(ErrorCode::mismatch, "dy has shape ", context.shape(0), " for ", offsets.count(),
         " slices of ", offsets.length(), " elements");
  }
  return scatter_kernel(context.dtype(0), shape->size(), offsets, ScatterReduction::add,
                        std::nullopt, 0);
}

std::vector<Val> grad_grad(GradContext& g) {
  return {g.builder().node("GatherND", {g.dy(0), g.x(1)},
                           {{"batch_dims", g.attr_int("batch_dims", 0)}})};
}

// 0, 1, ... along axis `axis` of the batch dims, as coordinates beside `indices`.
Val batch_coordinates(Val indices, Val shape, std::size_t axis) {
  Builder& b = indices.builder();
  const auto rank = static_cast<std::int64_t>(indices.rank());
  const auto at = static_cast<std::int64_t>(axis);
  const Val size = squeeze(slice(shape, at, at + 1, 0), {0});
  const Val range = b.node("Range", {b.int64(0), size, b.int64(1)});
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != at) others.push_back(i);
  }
  const Val parts[] = {slice(shape_of(indices), 0, -1, 0), b.int64s({1})};
  return graph::expand(unsqueeze(range, others), concat(parts, 0));
}

std::vector<Val> expand_gather(ExpandContext& context) {
  const Val dy = context.x(0);
  Val indices = cast(context.x(1), DType::int64);
  const Val shape = context.x(2);
  const std::size_t batch = batch_dims(context);
  if (batch > 0) {
    if (!indices.ranked()) {
      fail(ErrorCode::unsupported, "the derivative of GatherND needs a known rank");
    }
    std::vector<Val> parts;
    for (std::size_t a = 0; a < batch; ++a) parts.push_back(batch_coordinates(indices, shape, a));
    parts.push_back(indices);
    indices = concat(parts, -1);
  }
  return {context.builder().node("ScatterND", {zeros(shape, dy.dtype()), indices, dy},
                                 {{"reduction", std::string("add")}})};
}

}  // namespace

extern const OpDef gather_nd{.name = "GatherND",
                             .infer = infer,
                             .bind = bind,
                             .grad = grad,
                             .traits = {.cheap = true},
                             .no_gradient = 0b10};
extern const OpDef gather_nd_grad{.name = "GatherNDGrad",
                                  .domain = ondine_domain,
                                  .infer = infer_grad,
                                  .bind = bind_grad,
                                  .grad = grad_grad,
                                  .expand = expand_gather,
                                  .no_gradient = 0b110};

}  // namespace ondine::kernels::ops
