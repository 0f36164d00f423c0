// max_pool.cpp — y[o] = max of the window o of x; Indices says where, as offsets into all of x.
// Version 8 added Indices and storage_order, 10 ceil_mode and dilations, 12 int8 and uint8, 22
// bfloat16. dx[Indices] += dy.
// MaxPoolGrad (ai.ondine): (dy, indices, shape of x) -> dx. MaxPoolGather: (v, indices) ->
// v[indices]. Each is the other's derivative.
#include "core/stop.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/pool/max_bytes.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/storage_order.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  infer_pool(context);
  const auto y = context.outputs().empty() ? std::nullopt : context.outputs()[0].type.dims;
  context.set_output(1, DType::int64, y);
}

bool is_column_major(const NodeView& node) { return node.attr_int("storage_order", 0) != 0; }

Kernel bind(BindContext& context) {
  const math::PoolDesc desc{.shape = pool_shape(context, context.shape(0), false),
                            .indices = context.has_output(1),
                            .column_major = is_column_major(context)};
  const std::int64_t size = context.output_shape(0)->size();
  const DType dtype = context.dtype(0);
  if (is_integer(dtype) && !desc.indices) {
    if (Kernel kernel = bind_max_bytes(context, desc.shape)) return kernel;
  }
  return visit_compute(is_integer(dtype) ? DType::float32 : dtype, [&]<class C>() -> Kernel {
    const math::PoolPrimitive<C> max_pool(desc);
    context.set_implementation(max_pool.name(), max_pool.isa());
    Scratch scratch;
    const ComputeIn<C> x(context, scratch, 0);
    const ComputeOut<C> y(context, scratch, 0, size, true);
    scratch.request(context);
    return [=, indices = desc.indices](KernelContext& call) {
      max_pool.run(call.pool(), {.x = x(call),
                                 .result = y.data(call),
                                 .new_indices = indices ? call.out<std::int64_t>(1) : nullptr});
      y.store(call);
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
  math::SpatialDims dims;    // of the array that is indexed
  std::int64_t indices = 0;  // in each plane
};

Planes planes(const Shape& of, const Shape& indices) {
  return {of[0] * of[1], spatial_dims(of.span().subspan(2)), indices.size(2, indices.rank())};
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
  const auto whole = dims_from_input(context, 2);
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
  const math::PoolDesc desc{.shape = {.planes = p.count, .in = p.dims, .out = {1, 1, p.indices}},
                            .backward = true,
                            .column_major = is_column_major(context)};
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const math::PoolPrimitive<C> scatter(desc);
    context.set_implementation(scatter.name(), scatter.isa());
    Scratch scratch;
    const ComputeIn<C> dy(context, scratch, 0);
    const ComputeOut<C> dx(context, scratch, 0, whole.size());
    scratch.request(context);
    return [=](KernelContext& call) {
      scatter.run(call.pool(),
                  {.dy = dy(call), .indices = call.in<std::int64_t>(1), .result = dx.data(call)});
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
  const Planes p = planes(context.shape(0), context.shape(1));
  const bool column_major = is_column_major(context);
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const std::int64_t size = math::volume(p.dims);
      call.pool().for_chunks(p.count, 4, [&](std::int64_t first, std::int64_t last) {
        for (auto plane = first; plane < last; ++plane) {
          const T* values = call.in<T>(0) + plane * size;
          const std::int64_t begin = plane * p.indices;
          for_pieces(p.indices, 4, [&](std::int64_t from, std::int64_t to) {
            for (std::int64_t i = begin + from; i < begin + to; ++i) {
              const std::int64_t at = call.in<std::int64_t>(1)[i] - plane * size;
              const bool inside = at >= 0 && at < size;
              const std::int64_t offset =
                  inside && column_major ? math::to_row_major(p.dims, at) : at;
              call.out<T>(0)[i] = inside ? values[offset] : T{};
            }
          });
        }
      });
    };
  });
}

std::vector<Val> grad_of_gather(GradContext& g) {
  return {g.builder().node("MaxPoolGrad", {g.dy(0), g.x(1), graph::shape_of(g.x(0))},
                           {{"storage_order", g.attr_int("storage_order", 0)}}, ondine_domain)};
}

void require_row_major(const NodeView& node) {
  if (is_column_major(node)) {
    fail(ErrorCode::unsupported, "storage_order 1 has no expansion");
  }
}

std::vector<Val> expand_grad(ExpandContext& context) {
  require_row_major(context);
  return {add_at(context.x(0), context.x(1), context.x(2))};
}

std::vector<Val> expand_gather(ExpandContext& context) {
  require_row_major(context);
  return {graph::gather(graph::reshape(context.x(0), {-1}), context.x(1), 0)};
}

}  // namespace

extern const OpDef max_pool{
    .name = "MaxPool", .infer = infer, .bind = bind, .grad = grad, .traits = {.per_sample = 1}};
extern const OpDef max_pool_grad{.name = "MaxPoolGrad",
                                 .domain = ondine_domain,
                                 .infer = infer_grad,
                                 .bind = bind_grad,
                                 .grad = grad_of_grad,
                                 .expand = expand_grad};
extern const OpDef max_pool_gather{.name = "MaxPoolGather",
                                   .domain = ondine_domain,
                                   .infer = infer_gather,
                                   .bind = bind_gather,
                                   .grad = grad_of_gather,
                                   .expand = expand_gather};

}  // namespace ondine::kernels::ops
