// gather_grad.cpp — ai.ondine GatherGrad(dy, indices, shape, base): `base`, or zeros of `shape`
// where it is omitted, to which the slices of dy are added at their indices along `axis`, in the
// order of the indices, 16-bit floats in float;  d dy = Gather(ddx, indices), d base = ddx. Slices
// at indices outside of the axis, which Gather rejects before, are left out: so it cannot fail, and
// the update of a table may follow it in the commit section of a step.
#include <algorithm>

#include "kernels/common/element_conversion.h"
#include "kernels/common/expansion.h"
#include "kernels/common/index_input.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_scratch.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t base = 3;

void infer(InferContext& context) {
  Type x = Type::tensor(context.dtype(0));
  x.dims = dims_from_input(context, 2);
  if (context.has_input(base) && !compatible(x, context.input(base))) {
    context.reject("base is ", to_string(context.input(base)), ", not ", to_string(x));
  }
  context.set_output(0, x);
}

void check_shape(const Shape& dy, const Shape& indices, const Shape& x, std::size_t axis) {
  Shape want;
  for (std::size_t a = 0; a < axis; ++a) want.push_back(x[a]);
  for (const std::int64_t dim : indices) want.push_back(dim);
  for (std::size_t a = axis + 1; a < x.rank(); ++a) want.push_back(x[a]);
  if (!(want == dy)) fail(ErrorCode::mismatch, "dy has shape ", dy, ", not ", want);
}

// Elements [first, last) of the sums before anything is added; `from` may be the sums themselves.
template <class T>
void begin_sums(const T* from, compute_t<T>* sums, std::int64_t first, std::int64_t last) {
  if (from == nullptr) {
    std::fill(sums + first, sums + last, compute_t<T>(0));
  } else if (static_cast<const void*>(from) != sums) {
    std::transform(from + first, from + last, sums + first, [](T x) { return load(x); });
  }
}

// Each chunk owns a range of target rows and reads all indices: the order of additions to one
// element is that of the indices for any number of threads.
template <class T>
void scatter_rows(ThreadPool& pool, const AxisView& view, std::int64_t n, const std::int64_t* index,
                  const T* dy, const T* from, T* dx, compute_t<T>* sums) {
  const std::int64_t ranges = view.dim * view.inner > 16384 ? 8 : 1;
  const std::int64_t range = (view.dim + ranges - 1) / ranges;
  pool.for_chunks(view.outer * ranges, 1, [&](std::int64_t chunk, std::int64_t) {
    const std::int64_t outer = chunk / ranges;
    const std::int64_t low = chunk % ranges * range;
    const std::int64_t high = std::min(view.dim, low + range);
    if (low >= high) return;
    compute_t<T>* target = sums + outer * view.dim * view.inner;
    begin_sums(from == nullptr ? nullptr : from + outer * view.dim * view.inner, target,
               low * view.inner, high * view.inner);
    const T* source = dy + outer * n * view.inner;
    for (std::int64_t i = 0; i < n; ++i, source += view.inner) {
      if (index[i] < low || index[i] >= high) continue;
      compute_t<T>* row = target + index[i] * view.inner;
      for (std::int64_t k = 0; k < view.inner; ++k) row[k] += load(source[k]);
    }
    if constexpr (!std::is_same_v<T, compute_t<T>>) {
      T* out = dx + outer * view.dim * view.inner;
      for (auto k = low * view.inner; k < high * view.inner; ++k) out[k] = store<T>(target[k]);
    }
  });
}

Kernel bind(BindContext& context) {
  const auto shape = context.output_shape(0);
  if (!shape) fail(ErrorCode::internal, "the shape of a derivative is not known");
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), shape->rank());
  check_shape(context.shape(0), context.shape(1), *shape, axis);
  const bool has_base = context.has_input(base);
  if (has_base && !(context.shape(base) == *shape)) {
    fail(ErrorCode::mismatch, "base has shape ", context.shape(base), ", not ", *shape);
  }
  const AxisView view(*shape, axis);
  const IndexInput indices(context, 1);
  Scratch scratch;
  scratch.add<std::int64_t>(indices.count());
  const std::size_t sums_at = scratch.add<float>(shape->size());
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    constexpr bool narrow = !std::is_same_v<T, compute_t<T>>;
    if (narrow) scratch.request(context);
    return [=](KernelContext& call) {
      const std::int64_t* index = indices.read_unchecked(call, view.dim);
      const T* from = has_base ? call.in<T>(base) : nullptr;
      T* dx = call.out<T>(0);
      auto* sums = reinterpret_cast<compute_t<T>*>(dx);
      if (narrow) sums = reinterpret_cast<compute_t<T>*>(call.workspace<std::byte>() + sums_at);
      scatter_rows(call.pool(), view, indices.count(), index, call.in<T>(0), from, dx, sums);
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  std::vector<Val> parts{gather(g.dy(0), g.x(1), g.attr_int("axis", 0))};
  if (g.has_input(base)) parts.insert(parts.end(), {Val(), Val(), g.dy(0)});
  return parts;
}

// ScatterND adds slices of the first axis: `axis` goes to the front, and back.
std::vector<Val> expand_gather(ExpandContext& context) {
  const Val indices = context.x(1);
  const Val shape = context.x(2);
  const Type& x = result_type(context);
  if (!x.ranked() || !indices.ranked()) {
    fail(ErrorCode::unsupported, "the derivative of Gather needs known ranks");
  }
  const auto rank = static_cast<std::int64_t>(x.rank());
  const auto axis =
      static_cast<std::int64_t>(NodeView::normalize_axis(context.attr_int("axis", 0), x.rank()));
  const auto count = static_cast<std::int64_t>(indices.rank());
  Val dy = context.x(0);
  Val whole = shape;
  Val start = context.x(base);
  std::vector<std::int64_t> back;
  if (axis != 0) {
    std::vector<std::int64_t> slices, front{axis};
    for (std::int64_t i = 0; i < count; ++i) slices.push_back(axis + i);
    for (std::int64_t i = 0; i < rank - 1 + count; ++i) {
      if (i < axis || i >= axis + count) slices.push_back(i);
    }
    for (std::int64_t i = 0; i < rank; ++i) {
      if (i != axis) front.push_back(i);
      back.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
    }
    dy = transpose(dy, slices);
    whole = gather(shape, context.builder().int64s(front), 0);
    if (start) start = transpose(start, front);
  }
  if (!start) start = zeros(whole, dy.dtype());
  const Val sum =
      context.builder().node("ScatterND", {start, unsqueeze(cast(indices, DType::int64), {-1}), dy},
                             {{"reduction", std::string("add")}});
  return {axis == 0 ? sum : transpose(sum, back)};
}

}  // namespace

extern const OpDef gather_grad{.name = "GatherGrad",
                               .domain = ondine_domain,
                               .infer = infer,
                               .bind = bind,
                               .grad = grad,
                               .expand = expand_gather,
                               .traits = {.inplace = 1U << base, .cannot_fail = true},
                               .no_gradient = 0b110};

}  // namespace ondine::kernels::ops
