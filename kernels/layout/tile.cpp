// tile.cpp — y = x repeated repeats[a] times along each axis a;  dx = dy summed over the copies.
// Version 1 repeats one axis only: inputs tiles and axis, of x's dtype.
#include "core/checked.h"
#include "kernels/common/copy_kernel.h"

namespace ondine::kernels::ops {
namespace {

std::vector<std::int64_t> repeats_of(std::int64_t version, CopyParameters parameters,
                                     std::size_t rank) {
  std::vector<std::int64_t> repeats = parameters[0];
  if (version < 6) {
    if (repeats.size() != 1 || parameters[1].size() != 1) {
      fail(ErrorCode::mismatch, "tiles and axis must have one element each");
    }
    repeats.assign(rank, 1);
    repeats[NodeView::normalize_axis(parameters[1][0], rank)] = parameters[0][0];
  }
  if (repeats.size() != rank) {
    fail(ErrorCode::mismatch, repeats.size(), " repeats for rank ", rank);
  }
  for (const std::int64_t n : repeats) {
    if (n < 0) fail(ErrorCode::mismatch, "repeats are negative: ", n);
  }
  return repeats;
}

template <class Context>
std::vector<IntegerParameter> parameters_of(const Context& context) {
  if (context.version() < 6) return {IntegerParameter(context, 1), IntegerParameter(context, 2)};
  return {IntegerParameter(context, 1)};
}

void infer(InferContext& context) {
  if (!context.ranked(0)) return context.set_output(0, context.dtype(0), std::nullopt);
  Dims dims = context.dims(0);
  std::vector<std::vector<std::int64_t>> values;
  bool known = true;
  for (const IntegerParameter& parameter : parameters_of(context)) {
    known = known && parameter.known();
    values.push_back(parameter.values());
  }
  if (known) {
    const auto repeats = repeats_of(context.version(), values, dims.size());
    for (std::size_t a = 0; a < dims.size(); ++a) dims[a] = multiply(dims[a], repeats[a]);
  } else if (const auto partly = context.known_dims(1);
             partly && context.version() >= 6 && partly->size() == dims.size()) {
    for (std::size_t a = 0; a < dims.size(); ++a) dims[a] = multiply(dims[a], (*partly)[a]);
  } else {
    dims.assign(dims.size(), Dim());
  }
  context.set_output(0, context.dtype(0), std::move(dims));
}

Kernel bind(BindContext& context) {
  return bind_copy(context, parameters_of(context),
                   [x = context.shape(0), dtype = context.dtype(0),
                    version = context.version()](CopyParameters parameters) {
                     const auto repeats = repeats_of(version, parameters, x.rank());
                     Shape y = x;
                     for (std::size_t a = 0; a < x.rank(); ++a)
                       y[a] = checked_mul(x[a], repeats[a]);
                     const auto from = row_major(x);
                     const auto to = row_major(y);
                     std::vector<StridedCopy::Axis> axes;
                     for (std::size_t a = 0; a < x.rank(); ++a) {
                       axes.push_back({repeats[a], 0, x[a] * to[a]});
                       axes.push_back({x[a], from[a], to[a]});
                     }
                     return ShapedCopy{y, StridedCopy(dtype, axes)};
                   });
}

// dy seen as [repeats_0, dim_0, repeats_1, ...].
std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  if (!x.ranked()) fail(ErrorCode::unsupported, "the rank of the tiled tensor is not known");
  if (x.rank() == 0) return {g.dy(0)};
  Builder& b = g.builder();
  const auto rank = static_cast<std::int64_t>(x.rank());
  Val repeats = g.x(1);
  if (g.version() < 6) {
    // 1 everywhere, tiles at the axis.
    const Val ones = b.int64s(std::vector<std::int64_t>(x.rank(), 1));
    const Val at = graph::reshape(cast(g.x(2), DType::int64), {1});
    const Val tiles = graph::reshape(cast(g.x(1), DType::int64), {1});
    repeats = b.node("ScatterElements", {ones, at, tiles});
  }
  const Val pairs[2] = {unsqueeze(repeats, {1}), unsqueeze(shape_of(x), {1})};
  const Val split = graph::reshape(concat(pairs, 1), {2 * rank});
  std::vector<std::int64_t> axes;
  for (std::int64_t a = 0; a < rank; ++a) axes.push_back(2 * a);
  return {reduce_sum(graph::reshape(g.dy(0), split), axes, false)};
}

}  // namespace

extern const OpDef tile{
    .name = "Tile", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b110};

}  // namespace ondine::kernels::ops
