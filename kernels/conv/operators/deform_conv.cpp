// deform_conv.cpp — a convolution over 2 axes whose window elements are moved by `offset` and
// weighted by `mask`; between pixels x is interpolated linearly, outside it is 0. It expands into
// DeformColumns and a product with W. Version 22 added bfloat16.
#include "core/checked.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/sources/deformed_columns.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2, 3, 4});
  const std::int64_t group = count_attribute(context, "group");
  const std::int64_t offset_group = count_attribute(context, "offset_group");
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.ranked(i) && context.rank(i) != 4) {
      fail(ErrorCode::unsupported, "DeformConv over ", context.rank(i), " dims, needed: 4");
    }
  }
  const Dims x = dims_of_rank(context, 0, 4, "X");
  const Dims w = dims_of_rank(context, 1, 4, "W");
  const Dims offset = dims_of_rank(context, 2, 4, "offset");
  unify(x[1], multiply(w[1], group), "channels of X and of W times group");
  if (w[0].known() && w[0].size() % group != 0) {
    context.reject(w[0].size(), " output channels are not a multiple of ", group, " groups");
  }
  if (x[1].known() && x[1].size() % offset_group != 0) {
    context.reject(x[1].size(), " channels are not a multiple of ", offset_group, " offset groups");
  }
  Dims y{unify(x[0], offset[0], "batches"), w[0], offset[2], offset[3]};
  if (w[2].known() && w[3].known()) {
    const std::vector<std::int64_t> kernel{w[2].size(), w[3].size()};
    const auto given = context.attr_ints("kernel_shape");
    if (!given.empty() && given != kernel)
      context.reject("kernel_shape differs from the kernel dims of W");
    const Window window = read_window(context, kernel);
    for (std::size_t i = 0; i < 2; ++i) {
      y[2 + i] = unify(y[2 + i], output_dim(window.axes[i], x[2 + i], AutoPad::notset, false),
                       "output dims and those of offset");
    }
    const std::int64_t elements = checked_mul(offset_group, checked_mul(kernel[0], kernel[1]));
    unify(offset[1], checked_mul(2, elements), "channels of offset");
    if (context.has_input(4)) {
      const Dims mask = dims_of_rank(context, 4, 4, "mask");
      unify(mask[0], x[0], "batches");
      unify(mask[1], elements, "channels of mask");
      unify(mask[2], y[2], "dims of mask");
      unify(mask[3], y[3], "dims of mask");
    }
  }
  if (context.has_input(3)) unify(dims_of_rank(context, 3, 1, "B")[0], w[0], "output channels");
  context.set_output(0, context.dtype(0), y);
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  Val w = context.x(1);
  const auto kernel_shape = context.attr_ints("kernel_shape");
  for (std::size_t i = 0; i < kernel_shape.size(); ++i) {
    w = with_dim(w, static_cast<std::int64_t>(2 + i), kernel_shape[i],
                 "kernel dims of W and kernel_shape");
  }
  const std::int64_t group = count_attribute(context, "group");
  Attributes attributes = context.node().attributes;
  std::erase_if(attributes,
                [](const Attribute& a) { return a.name == "group" || a.name == "kernel_shape"; });
  const Val kernel = graph::slice(graph::shape_of(w), 2, 4, 0);
  const Val columns = b.node("DeformColumns", {context.x(0), context.x(2), context.x(4), kernel},
                             attributes, ondine_domain);
  // [N, group, C / group kernel, outputs] and [group, M / group, C / group kernel].
  const Val depth = graph::dim_of(columns, 1) / b.int64(group);
  const Val outputs[] = {graph::dim_of(columns, 0), b.int64s({group}), depth,
                         graph::dim_of(columns, 2)};
  const Val grouped = graph::reshape(columns, graph::concat(outputs, 0));
  const Val rows[] = {b.int64s({group}), graph::dim_of(w, 0) / b.int64(group), depth};
  const Val y = graph::matmul(graph::reshape(w, graph::concat(rows, 0)), grouped);
  const Val shape[] = {graph::dim_of(columns, 0), graph::dim_of(w, 0),
                       graph::slice(graph::shape_of(context.x(2)), 2, 4, 0)};
  const Val image = graph::reshape(y, graph::concat(shape, 0));
  if (!context.x(3)) return {image};
  const Val bias = with_dims_of(context.x(3), {0}, w, {0}, "output channels");
  return {image + graph::unsqueeze(bias, {1, 2})};
}

}  // namespace

extern const OpDef deform_conv{.name = "DeformConv", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
