// tensor_scatter.cpp — y = a cache with a run of slices along `axis` written into each batch
// element b from position write_indices[b] on (0 without), in mode circular around the end;  d
// cache = dy with zeros there, d update = dy read there (ai.ondine TensorGather(dy, update shape,
// indices)).
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

bool circular(const NodeView& node) {
  const std::string mode = node.attr_string("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    fail(ErrorCode::invalid_model, "unknown mode ", quoted(mode));
  }
  return mode == "circular";
}

// Rows of one run: [batch, between, steps, inner] in the update, [.., size, ..] in the cache.
struct Runs {
  std::int64_t batch = 1;
  std::int64_t between = 1;
  std::int64_t size = 1;
  std::int64_t steps = 1;
  std::int64_t inner = 1;
  bool wraps = false;
  std::optional<std::size_t> starts;

  Runs(const BindContext& context, const Shape& cache, const Shape& update, std::size_t input)
      : wraps(circular(context)) {
    if (cache.rank() < 2 || update.rank() != cache.rank()) {
      fail(ErrorCode::mismatch, "an update of shape ", update, " for a cache of shape ", cache);
    }
    const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", -2), cache.rank());
    if (axis == 0) fail(ErrorCode::mismatch, "the axis of a run cannot be the batch axis 0");
    for (std::size_t a = 0; a < cache.rank(); ++a) {
      if (a == axis ? update[a] > cache[a] : update[a] != cache[a]) {
        fail(ErrorCode::mismatch, "an update of shape ", update, " for a cache of shape ", cache,
             " along axis ", axis);
      }
    }
    batch = cache[0];
    between = cache.size(1, axis);
    size = cache[axis];
    steps = update[axis];
    inner = cache.size(axis + 1, cache.rank());
    if (!context.has_input(input)) return;
    starts = input;
    if (!(context.shape(input) == Shape{batch})) {
      fail(ErrorCode::mismatch, "write indices of shape ", context.shape(input), " for ", batch,
           " batch elements");
    }
  }

  void check(const KernelContext& call) const {
    for (std::int64_t b = 0; starts && b < batch; ++b) {
      const std::int64_t at = call.in<std::int64_t>(*starts)[b];
      if (at < 0 || at > size || (!wraps && at > size - steps)) {
        fail(ErrorCode::mismatch, "write index ", at, " of batch element ", b, " for ", steps,
             " steps in an axis of size ", size);
      }
    }
  }

  // Calls body(row of the cache, row of the update), rows of `inner` elements.
  template <class Body>
  void for_rows(const KernelContext& call, const Body& body) const {
    for (std::int64_t i = 0; i < batch * between; ++i) {
      const std::int64_t start = starts ? call.in<std::int64_t>(*starts)[i / between] : 0;
      for (std::int64_t s = 0; s < steps; ++s) {
        body(i * size + (start + s) % size, i * steps + s);
      }
    }
  }
};

void infer(InferContext& context) {
  circular(context);
  if (context.dtype(1) != context.dtype(0)) {
    context.reject("the update is ", context.dtype(1), ", the cache ", context.dtype(0));
  }
  context.set_output(0, context.input(0));
}

Kernel bind(BindContext& context) {
  const Runs runs(context, context.shape(0), context.shape(1), 2);
  const DType dtype = context.dtype(0);
  const std::int64_t n = context.shape(0).size();
  return visit_size(dtype, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      runs.check(call);
      copy_elements(call.pool(), dtype, n, call.in<void>(0), call.out<void>(0));
      const T* update = call.in<T>(1);
      T* y = call.out<T>(0);
      runs.for_rows(call, [&](std::int64_t to, std::int64_t from) {
        std::copy_n(update + from * runs.inner, runs.inner, y + to * runs.inner);
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  std::vector<Val> dx(2);
  if (g.wants(0)) {
    dx[0] = b.node("TensorScatter", {g.dy(0), zeros_like(g.x(1)), g.x(2)}, g.node().attributes);
  }
  if (g.wants(1)) {
    dx[1] = b.node("TensorGather", {g.dy(0), shape_of(g.x(1)), g.x(2)}, g.node().attributes,
                   ondine_domain);
  }
  return dx;
}

void infer_gather(InferContext& context) {
  context.set_output(0, context.dtype(0), dims_from_input(context, 1));
}

Kernel bind_gather(BindContext& context) {
  const auto shape = context.output_shape(0);
  if (!shape) fail(ErrorCode::internal, "the shape of a derivative is not known");
  const Runs runs(context, context.shape(0), *shape, 2);
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      runs.check(call);
      const T* cache = call.in<T>(0);
      T* y = call.out<T>(0);
      runs.for_rows(call, [&](std::int64_t from, std::int64_t to) {
        std::copy_n(cache + from * runs.inner, runs.inner, y + to * runs.inner);
      });
    };
  });
}

std::vector<Val> grad_gather(GradContext& g) {
  const Val zeros = zeros_like(g.x(0));
  return {g.builder().node("TensorScatter", {zeros, g.dy(0), g.x(2)}, g.node().attributes)};
}

}  // namespace

extern const OpDef tensor_scatter{
    .name = "TensorScatter", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b100};
extern const OpDef tensor_gather{.name = "TensorGather",
                                 .domain = ondine_domain,
                                 .infer = infer_gather,
                                 .bind = bind_gather,
                                 .grad = grad_gather,
                                 .no_gradient = 0b110};

}  // namespace ondine::kernels::ops
