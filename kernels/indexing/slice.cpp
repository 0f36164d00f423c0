// slice.cpp — y = x[start : end : step] on some axes;  dx = zeros with dy at those positions
// (SliceGrad). Version 1 has attributes and no steps; 10 has inputs.
#include "kernels/indexing/slice.h"

#include <algorithm>

#include "graph/contract/clipped_dim.h"
#include "kernels/common/copy_kernel.h"

namespace ondine::kernels {

AxisSlice clamp_slice(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) fail(ErrorCode::mismatch, "the step of a slice is 0");
  const std::int64_t low =
      step > 0 ? 0 : -1;  // one before the first element that a negative step can reach
  const std::int64_t high = step > 0 ? size : size - 1;
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<std::int64_t>(start, 0, std::max<std::int64_t>(high, 0));
  end = std::clamp<std::int64_t>(end, low, std::max<std::int64_t>(high, low));
  if (size == 0 || (step > 0 ? end <= start : end >= start)) return {0, 1, 0};
  if (step > 0) return {start, step, 1 + (end - start - 1) / step};
  // -(INT64_MIN) does not exist; any step beyond the size takes one element.
  step = std::max(step, -size);
  return {start, step, 1 + (start - end - 1) / -step};
}

SliceParameters::SliceParameters(std::span<const std::vector<std::int64_t>> parameters)
    : starts(parameters[0]), ends(parameters[1]), axes(parameters[2]), steps(parameters[3]) {}

std::vector<std::size_t> SliceParameters::normalized_axes(std::size_t rank) const {
  const std::size_t n = starts.size();
  if (ends.size() != n || (!axes.empty() && axes.size() != n) ||
      (!steps.empty() && steps.size() != n)) {
    fail(ErrorCode::mismatch, "a slice with ", n, " starts, ", ends.size(), " ends, ", axes.size(),
         " axes and ", steps.size(), " steps");
  }
  if (!axes.empty()) return normalize_axes(axes, rank);
  if (n > rank) fail(ErrorCode::mismatch, n, " starts for rank ", rank);
  std::vector<std::size_t> first(n);
  for (std::size_t i = 0; i < n; ++i) first[i] = i;
  return first;
}

SliceCopy::SliceCopy(const Shape& whole, const SliceParameters& parameters) : part(whole) {
  const auto strides = row_major(whole);
  for (std::size_t a = 0; a < whole.rank(); ++a) axes.push_back({whole[a], strides[a], 0});
  const auto sliced = parameters.normalized_axes(whole.rank());
  for (std::size_t i = 0; i < sliced.size(); ++i) {
    const std::size_t a = sliced[i];
    const AxisSlice slice =
        clamp_slice(whole[a], parameters.starts[i], parameters.ends[i], parameters.step(i));
    part[a] = slice.count;
    if (slice.count > 0) offset += slice.start * strides[a];
    axes[a].size = slice.count;
    // A step longer than the axis is never taken.
    axes[a].from = slice.count > 1 ? slice.step * strides[a] : strides[a];
  }
  const auto dense = row_major(part);
  for (std::size_t a = 0; a < part.rank(); ++a) axes[a].to = dense[a];
}

namespace ops {
namespace {

template <class Context>
std::vector<IntegerParameter> parameters_of(const Context& context) {
  if (context.version() < 10) {
    return {IntegerParameter(context.attr_ints("starts")),
            IntegerParameter(context.attr_ints("ends")),
            IntegerParameter(context.attr_ints("axes")), IntegerParameter()};
  }
  return {IntegerParameter(context, 1), IntegerParameter(context, 2), IntegerParameter(context, 3),
          IntegerParameter(context, 4)};
}

struct Bound {
  bool known;
  std::int64_t value;
  Dim dim;  // of an end that is known only as a dim, as in x[:, :length]
};

// Known size of x[start : end : step]; otherwise a dynamic dim.
Dim sliced(Dim dim, const Bound& start, const Bound& end, std::int64_t step) {
  if (step == 0) fail(ErrorCode::mismatch, "the step of a slice is 0");
  if (start.known && end.known && dim.known()) {
    return clamp_slice(dim.size(), start.value, end.value, step).count;
  }
  if (!start.known || start.value != 0 || step != 1) return {};
  constexpr std::int64_t unbounded = (std::int64_t{1} << 31) - 1;  // how exporters write "all"
  if (end.known && end.value >= unbounded) return dim;
  if (end.dim.same(dim)) return dim;
  return dim.known() ? graph::clipped(end.dim, dim.size()) : Dim();
}

void infer(InferContext& context) {
  const auto parameters = parameters_of(context);
  if (!context.ranked(0)) return context.set_output(0, context.dtype(0), std::nullopt);
  Dims dims = context.dims(0);
  const IntegerParameter& starts = parameters[0];
  const IntegerParameter& ends = parameters[1];
  if (!parameters[2].known() || !parameters[3].known() || !starts.count()) {
    return context.set_output(0, context.dtype(0), Dims(dims.size()));
  }
  const auto count = static_cast<std::size_t>(*starts.count());
  if (count > dims.size()) context.reject(count, " starts for rank ", dims.size());
  std::vector<std::vector<std::int64_t>> values;
  for (const IntegerParameter& parameter : parameters) values.push_back(parameter.values());
  if (!starts.known()) values[0].assign(count, 0);
  if (!ends.known()) values[1].assign(count, 0);
  const SliceParameters slice(values);
  const auto end_dims = context.version() >= 10 ? context.known_dims(2) : std::nullopt;
  const auto axes = slice.normalized_axes(dims.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Bound start{starts.known(), slice.starts[i], {}};
    Bound end{ends.known(), slice.ends[i], {}};
    if (end_dims && i < end_dims->size()) end.dim = (*end_dims)[i];
    dims[axes[i]] = sliced(dims[axes[i]], start, end, slice.step(i));
  }
  context.set_output(0, context.dtype(0), dims);
  if (dims.size() != 1 || !dims[0].known() || context.dtype(0) != DType::int64) return;
  const auto known = context.known_dims(0);
  if (!known || !starts.known() || !ends.known()) return;
  Dims part = *known;
  if (!axes.empty()) {
    const auto range = clamp_slice(static_cast<std::int64_t>(part.size()), slice.starts[0],
                                   slice.ends[0], slice.step(0));
    part.clear();
    for (std::int64_t k = 0; k < range.count; ++k) {
      part.push_back((*known)[static_cast<std::size_t>(range.start + k * range.step)]);
    }
  }
  context.set_known_dims(0, part);
}

Kernel bind(BindContext& context) {
  return bind_copy(context, parameters_of(context),
                   [x = context.shape(0), dtype = context.dtype(0)](CopyParameters parameters) {
                     const SliceCopy slice(x, SliceParameters(parameters));
                     return ShapedCopy{slice.part, StridedCopy(dtype, slice.axes, slice.offset)};
                   });
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  Val parameters[4] = {g.x(1), g.x(2), g.x(3), g.x(4)};
  if (g.version() < 10) {
    parameters[0] = b.int64s(g.attr_ints("starts"));
    parameters[1] = b.int64s(g.attr_ints("ends"));
    if (g.has_attr("axes")) parameters[2] = b.int64s(g.attr_ints("axes"));
  }
  return {b.node(
      "SliceGrad",
      {g.dy(0), shape_of(g.x(0)), parameters[0], parameters[1], parameters[2], parameters[3]}, {},
      ondine_domain)};
}

}  // namespace

extern const OpDef slice_op{.name = "Slice",
                            .infer = infer,
                            .bind = bind,
                            .grad = grad,
                            .traits = {.cheap = true},
                            .no_gradient = 0b11110};

}  // namespace ops
}  // namespace ondine::kernels
