// affine_grid.cpp — grid[n, p] = theta[n] (p, 1), p being the points of an image with the last axis
// first, from -1 to 1: over the pixels' outer edges, or with align_corners over their centres.
// AffineGridGrad (ai.ondine): dgrid -> dtheta; each is the other's derivative.
#include "core/stop.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Dims theta = dims_of_rank(context, 0, 3, "theta");
  const auto size = dims_from_input(context, 1);
  if (!size) return context.set_output(0, context.dtype(0), std::nullopt);
  if (size->size() != 4 && size->size() != 5) {
    context.reject("size must have 4 or 5 elements, found ", size->size());
  }
  const auto axes = static_cast<std::int64_t>(size->size()) - 2;
  unify(theta[1], axes, "rows of theta and spatial axes");
  unify(theta[2], axes + 1, "columns of theta and spatial axes + 1");
  Dims grid{unify(theta[0], (*size)[0], "batches")};
  grid.insert(grid.end(), size->begin() + 2, size->end());
  grid.emplace_back(axes);
  context.set_output(0, context.dtype(0), grid);
}

// Coordinates of point p of the grid's spatial dims, the last axis first, then 1.
void homogeneous(const Shape& grid, bool align_corners, std::int64_t p, double* to) {
  const std::size_t axes = grid.rank() - 2;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t size = grid[axes - i];
    const auto n = static_cast<double>(size);
    const auto k = static_cast<double>(p % size);
    to[i] = !align_corners ? (2 * k + 1) / n - 1 : size > 1 ? 2 * k / (n - 1) - 1 : -1;
    p /= size;
  }
  to[axes] = 1;
}

template <bool adjoint>
Kernel bind(BindContext& context) {
  const Shape grid = adjoint ? context.shape(0) : *context.output_shape(0);
  const bool align_corners = context.attr_int("align_corners", 0) != 0;
  const auto axes = static_cast<std::int64_t>(grid.rank()) - 2;
  const std::int64_t batch = grid[0];
  const std::int64_t points = grid.size(1, grid.rank() - 1);
  const std::int64_t matrix = axes * (axes + 1);
  Scratch scratch;
  const ComputeIn<double> in(context, scratch, 0);
  const ComputeOut<double> out(context, scratch, 0, adjoint ? batch * matrix : grid.size());
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = in(call);
    double* to = out.data(call);
    if (adjoint) std::fill_n(to, batch * matrix, 0.0);
    call.pool().for_chunks(batch, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto n = first; n < last; ++n) {
        for (std::int64_t p = 0; p < points; ++p) {
          checkpoint(32);
          double at[4];
          homogeneous(grid, align_corners, p, at);
          for (std::int64_t i = 0; i < axes; ++i) {
            const std::int64_t point = (n * points + p) * axes + i;
            if (!adjoint) to[point] = 0;
            for (std::int64_t j = 0; j <= axes; ++j) {
              const std::int64_t element = n * matrix + i * (axes + 1) + j;
              if (adjoint) {
                to[element] += from[point] * at[j];
              } else {
                to[point] += from[element] * at[j];
              }
            }
          }
        }
      }
    });
    out.store(call);
  };
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("AffineGridGrad", {g.dy(0)}, g.node().attributes, ondine_domain)};
}

void infer_grad(InferContext& context) {
  const Type& grid = context.input(0);
  Dims theta(3);
  if (grid.ranked()) {
    if (grid.rank() != 4 && grid.rank() != 5) context.reject("a grid has rank 4 or 5");
    const auto axes = static_cast<std::int64_t>(grid.rank()) - 2;
    unify(grid.dims->back(), axes, "coordinates and spatial axes");
    theta = {(*grid.dims)[0], axes, axes + 1};
  }
  context.set_output(0, grid.dtype, theta);
}

std::vector<Val> grad_of_grad(GradContext& g) {
  const Val shape = graph::shape_of(g.x(0));
  const Val parts[] = {graph::slice(shape, 0, 1, 0), g.builder().int64s({1}),
                       graph::slice(shape, 1, -1, 0)};
  return {g.builder().node("AffineGrid", {g.dy(0), graph::concat(parts, 0)}, g.node().attributes)};
}

// The grid of the identity, with ones as last coordinate, times dy.
std::vector<Val> expand_grad(ExpandContext& context) {
  Builder& b = context.builder();
  const Val dy = context.x(0);
  if (!dy.ranked()) {
    fail(ErrorCode::unsupported, "the derivative of AffineGrid needs a known rank");
  }
  const auto axes = static_cast<std::int64_t>(dy.rank()) - 2;
  std::vector<float> identity(static_cast<std::size_t>(axes * (axes + 1)));
  for (std::int64_t i = 0; i < axes; ++i) identity[static_cast<std::size_t>(i * (axes + 2))] = 1;
  const Val theta =
      graph::cast(b.constant(Tensor::of<float>({1, axes, axes + 1}, identity)), dy.dtype());
  const Val sizes[] = {b.int64s({1, 1}), graph::slice(graph::shape_of(dy), 1, -1, 0)};
  const Val grid =
      b.node("AffineGrid", {theta, graph::concat(sizes, 0)}, context.node().attributes);
  const Val points = graph::reshape(grid, {-1, axes});
  const Val ones = graph::full_like(graph::slice(points, 0, 1, 1), 1);
  const Val parts[] = {points, ones};
  const Val flat = graph::reshape(dy, {0, -1, axes});
  return {graph::matmul(graph::transpose(flat, {0, 2, 1}), graph::concat(parts, 1))};
}

}  // namespace

extern const OpDef affine_grid{
    .name = "AffineGrid", .infer = infer, .bind = bind<false>, .grad = grad, .no_gradient = 0b10};
extern const OpDef affine_grid_grad{.name = "AffineGridGrad",
                                    .domain = ondine_domain,
                                    .infer = infer_grad,
                                    .bind = bind<true>,
                                    .grad = grad_of_grad,
                                    .expand = expand_grad};

}  // namespace ondine::kernels::ops
