// max_pool.cpp — y[o] = max of the window o of x; Indices says where, as offsets into all of x.
// Version 8 added Indices and storage_order, 10 ceil_mode and dilations, 12 int8 and uint8, 22
// bfloat16. dx[Indices] += dy.
// MaxPoolGrad (ai.ondine): (dy, indices, shape of x) -> dx. MaxPoolGather: (v, indices) ->
// v[indices]. Each is the other's derivative.
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/pool/pool.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  infer_pool(context);
  const auto y = context.outputs().empty() ? std::nullopt : context.outputs()[0].type.dims;
  context.set_output(1, DType::int64, y);
}

// Offsets within one plane in row-major order <-> with the first spatial axis running fastest
// (storage_order 1).
struct PlaneOrder {
  math::SpatialDims in;
  bool columns = false;

  std::int64_t to_columns(std::int64_t i) const {
    const std::int64_t w = i % in[2];
    const std::int64_t h = i / in[2] % in[1];
    const std::int64_t d = i / in[2] / in[1];
    return d + in[0] * (h + in[1] * w);
  }
  std::int64_t to_rows(std::int64_t i) const {
    const std::int64_t d = i % in[0];
    const std::int64_t h = i / in[0] % in[1];
    const std::int64_t w = i / in[0] / in[1];
    return (d * in[1] + h) * in[2] + w;
  }
};

PlaneOrder plane_order(const NodeView& node, const Shape& x) {
  return {spatial_dims(x.span().subspan(2)), node.attr_int("storage_order", 0) != 0};
}

Kernel bind(BindContext& context) {
  const Shape x_shape = context.shape(0);
  const math::PoolShape shape = pool_shape(context, x_shape, false);
  const PlaneOrder order = plane_order(context, x_shape);
  const std::int64_t plane = x_shape.size(2, x_shape.rank());
  const std::int64_t out_plane = shape.out[0] * shape.out[1] * shape.out[2];
  const bool bytes = is_integer(context.dtype(0));
  context.set_implementation(math::max_pool_name(shape), math::isa_name(math::kernels()));
  return visit_compute(bytes ? DType::float32 : context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const ComputeIn<C> x(context, scratch, 0);
    const ComputeOut<C> y(context, scratch, 0, shape.planes * out_plane, true);
    const bool indices = context.has_output(1);
    scratch.request(context);
    return [=](KernelContext& call) {
      if (shape.planes * out_plane == 0) return;
      std::int64_t* index = indices ? call.out<std::int64_t>(1) : nullptr;
      math::max_pool<C>(call.pool(), shape, x(call), y.data(call), index,
                        order.columns ? 0 : plane);
      y.store(call);
      if (index == nullptr || !order.columns) return;
      call.pool().for_chunks(shape.planes, 4, [&](std::int64_t first, std::int64_t last) {
        for (auto p = first; p < last; ++p) {
          for (std::int64_t i = p * out_plane; i < (p + 1) * out_plane; ++i) {
            index[i] = p * plane + order.to_columns(index[i]);
          }
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("MaxPoolGrad", {g.dy(0), g.y(1), graph::shape_of(g.x(0))},
                           {{"storage_order", g.attr_int("storage_order", 0)}}, ondine_domain)};
}

// The planes of values at `of` and of an array with one index for each value.
struct Planes {
  std::int64_t count = 0;
  std::int64_t size = 0;     // of the array that is indexed
  std::int64_t indices = 0;  // in each plane
};

Planes planes(const Shape& of, const Shape& indices) {
  const std::int64_t count = of[0] * of[1];
  return {count, of.size(2, of.rank()), indices.size(2, indices.rank())};
}

void infer_indexed(InferContext& context, const std::optional<Dims>& whole) {
  if (context.dtype(1) != DType::int64) context.reject("indices must be int64");
  if (!context.ranked(1) || !whole) return;
  const Dims& at = context.dims(1);
  if (at.size() != whole->size() || at.size() < 3 || at.size() > 5) {
    context.reject("indices ", graph::to_string(at), " do not fit ", graph::to_string(*whole));
  }
  unify(at[0], (*whole)[0], "batches");
  unify(at[1], (*whole)[1], "channels");
}

void infer_grad(InferContext& context) {
  const auto whole = spelled_dims(context, 2);
  infer_indexed(context, whole);
  const Type& dy = context.input(0);
  if (!compatible(dy, Type{TypeKind::tensor, dy.dtype, context.input(1).dims, {}})) {
    context.reject("dy and indices differ in shape");
  }
  context.set_output(0, dy.dtype, whole);
}

Kernel bind_grad(BindContext& context) {
  const Shape whole = *context.output_shape(0);
  const Planes p = planes(whole, context.shape(1));
  const PlaneOrder order = plane_order(context, whole);
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const ComputeIn<C> dy(context, scratch, 0);
    const ComputeOut<C> dx(context, scratch, 0, whole.size());
    scratch.request(context);
    return [=](KernelContext& call) {
      const C* from = dy(call);
      const auto* index = call.in<std::int64_t>(1);
      C* to = dx.data(call);
      call.pool().for_chunks(p.count, 4, [&](std::int64_t first, std::int64_t last) {
        for (auto plane = first; plane < last; ++plane) {
          C* row = to + plane * p.size;
          std::fill_n(row, p.size, C{0});
          for (std::int64_t i = plane * p.indices; i < (plane + 1) * p.indices; ++i) {
            const std::int64_t at = index[i] - plane * p.size;
            if (at >= 0 && at < p.size) row[order.columns ? order.to_rows(at) : at] += from[i];
          }
        }
      });
      dx.store(call);
    };
  });
}

std::vector<Val> grad_of_grad(GradContext& g) {
  return {g.builder().node("MaxPoolGather", {g.dy(0), g.x(1)},
                           {{"storage_order", g.attr_int("storage_order", 0)}}, ondine_domain)};
}

void infer_gather(InferContext& context) {
  infer_indexed(context, context.input(0).dims);
  context.set_output(0, context.dtype(0), context.input(1).dims);
}

Kernel bind_gather(BindContext& context) {
  const Shape whole = context.shape(0);
  const Planes p = planes(whole, context.shape(1));
  const PlaneOrder order = plane_order(context, whole);
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      call.pool().for_chunks(p.count, 4, [&](std::int64_t first, std::int64_t last) {
        for (auto plane = first; plane < last; ++plane) {
          const T* row = call.in<T>(0) + plane * p.size;
          for (std::int64_t i = plane * p.indices; i < (plane + 1) * p.indices; ++i) {
            const std::int64_t at = call.in<std::int64_t>(1)[i] - plane * p.size;
            const bool inside = at >= 0 && at < p.size;
            call.out<T>(0)[i] = inside ? row[order.columns ? order.to_rows(at) : at] : T{};
          }
        }
      });
    };
  });
}

std::vector<Val> grad_of_gather(GradContext& g) {
  return {g.builder().node("MaxPoolGrad", {g.dy(0), g.x(1), graph::shape_of(g.x(0))},
                           {{"storage_order", g.attr_int("storage_order", 0)}}, ondine_domain)};
}

}  // namespace

extern const OpDef max_pool{.name = "MaxPool", .infer = infer, .bind = bind, .grad = grad};
extern const OpDef max_pool_grad{.name = "MaxPoolGrad",
                                 .domain = ondine_domain,
                                 .infer = infer_grad,
                                 .bind = bind_grad,
                                 .grad = grad_of_grad};
extern const OpDef max_pool_gather{.name = "MaxPoolGather",
                                   .domain = ondine_domain,
                                   .infer = infer_gather,
                                   .bind = bind_gather,
                                   .grad = grad_of_gather};

}  // namespace ondine::kernels::ops
