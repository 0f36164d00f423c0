// slice_grad.cpp — ai.ondine SliceGrad(part, shape, starts, ends, axes, steps): zeros of `shape`
// with `part` where Slice would read;  d part = Slice(dy, ...).
#include "kernels/common/copy_kernel.h"
#include "kernels/common/expansion.h"
#include "kernels/indexing/slice.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  context.set_output(0, context.dtype(0), dims_from_input(context, 1));
}

Kernel bind(BindContext& context) {
  std::vector<IntegerParameter> parameters;
  for (std::size_t i = 1; i < 6; ++i) parameters.emplace_back(context, i);
  return bind_copy(context, parameters,
                   [part = context.shape(0), dtype = context.dtype(0)](CopyParameters given) {
                     const Shape whole(given[0]);
                     const SliceCopy slice(whole, SliceParameters(given.subspan(1)));
                     if (!(slice.part == part)) {
                       fail(ErrorCode::mismatch, "a slice of shape ", slice.part, " gets ", part);
                     }
                     auto axes = slice.axes;
                     for (auto& axis : axes) std::swap(axis.from, axis.to);
                     return ShapedCopy{whole, StridedCopy(dtype, axes, 0, slice.offset)};
                   },
                   {.fill = true});
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("Slice", {g.dy(0), g.x(2), g.x(3), g.x(4), g.x(5)})};
}

// The pads around the part where all is known and the step is 1.
std::optional<std::vector<std::int64_t>> pads_around(ExpandContext& context, const Type& whole) {
  if (!whole.ranked()) return std::nullopt;
  std::vector<std::vector<std::int64_t>> given;
  for (std::size_t i = 2; i < 6; ++i) {
    const auto values =
        context.x(i) ? constant_integers(context.x(i)) : std::optional(std::vector<std::int64_t>());
    if (!values) return std::nullopt;
    given.push_back(*values);
  }
  const SliceParameters parameters(given);
  const auto axes = parameters.normalized_axes(whole.rank());
  std::vector<std::int64_t> pads(2 * whole.rank());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim dim = (*whole.dims)[axes[i]];
    if (!dim.known() || parameters.step(i) != 1) return std::nullopt;
    const AxisSlice slice =
        clamp_slice(dim.size(), parameters.starts[i], parameters.ends[i], parameters.step(i));
    pads[axes[i]] = slice.start;
    pads[whole.rank() + axes[i]] = dim.size() - slice.start - slice.count;
  }
  return pads;
}

std::vector<Val> expand_slice(ExpandContext& context) {
  Builder& b = context.builder();
  const Val part = context.x(0);
  if (const auto pads = pads_around(context, result_type(context))) {
    return {b.node("Pad", {part, b.int64s(*pads)})};
  }
  const Val shape = context.x(1);
  const Val sliced =
      b.node("Slice", {positions(shape), context.x(2), context.x(3), context.x(4), context.x(5)});
  return {add_at(part, sliced, shape)};
}

}  // namespace

extern const OpDef slice_grad{.name = "SliceGrad",
                              .domain = ondine_domain,
                              .infer = infer,
                              .bind = bind,
                              .grad = grad,
                              .expand = expand_slice,
                              .no_gradient = 0b111110};

}  // namespace ondine::kernels::ops
