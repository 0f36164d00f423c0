// resize.cpp — Resize and Upsample: y is x sampled on another grid, axis by axis; dx distributes dy
// by the same weights. Upsample has scales as attributes until 7 (named by axis in 1), then as
// input; Resize 10 is Upsample 9 with scales below 1; 11 added coordinate transformations, cubic,
// roi and sizes; 18 antialias, axes and keep_aspect_ratio_policy; 19 half_pixel_symmetric.
// ResizeGrad (ai.ondine): (dy, roi, scales, sizes, shape of x) -> dx; its derivative is Resize.
#include "kernels/image/resize.h"

#include <algorithm>
#include <numeric>

#include "core/stop.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/image/resize_axis.h"
#include "kernels/image/resize_weights.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Type& x = context.input(0);
  context.set_output(0, x.dtype, resized_dims(context, x.dims));
}

// Output 0 has the shape of x, which is input 4; dy must have the dims that Resize gives.
void infer_grad(InferContext& context) {
  const auto x = dims_from_input(context, 4);
  const Type& dy = context.input(0);
  const auto y = resized_dims(context, x);
  if (y && !compatible(dy, Type::tensor(dy.dtype, *y))) {
    context.reject("dy is ", graph::to_string(dy), ", expected ", graph::to_string(*y));
  }
  context.set_output(0, dy.dtype, x);
}

// Applies the maps axis by axis, or their transposes in the other direction.
struct Step {
  std::int64_t outer, inner;
  AxisMap map;
};

std::vector<Step> steps_of(const ResizePlan& plan, const Shape& x, const Shape& y) {
  std::vector<Step> steps;
  Shape now = x;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (!plan.maps[axis]) continue;
    steps.push_back({now.size(0, axis), now.size(axis + 1, now.rank()), *plan.maps[axis]});
    now[axis] = y[axis];
  }
  return steps;
}

template <class C>
void forward_step(const Step& s, const C* x, C* y) {
  const std::int64_t out = s.map.out();
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t k = 0; k < out; ++k) {
      C* to = y + (o * out + k) * s.inner;
      std::fill_n(to, s.inner, C{0});
      const auto at = static_cast<std::size_t>(k);
      for (std::size_t t = s.map.first[at]; t < s.map.first[at + 1]; ++t) {
        const C* from = x + (o * s.map.in + s.map.taps[t].index) * s.inner;
        const auto weight = static_cast<C>(s.map.taps[t].weight);
        checkpoint(s.inner);
        for (std::int64_t i = 0; i < s.inner; ++i) to[i] += weight * from[i];
      }
    }
  }
}

template <class C>
void backward_step(const Step& s, const C* dy, C* dx) {
  const std::int64_t out = s.map.out();
  std::fill_n(dx, s.outer * s.map.in * s.inner, C{0});
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t k = 0; k < out; ++k) {
      const C* from = dy + (o * out + k) * s.inner;
      const auto at = static_cast<std::size_t>(k);
      for (std::size_t t = s.map.first[at]; t < s.map.first[at + 1]; ++t) {
        C* to = dx + (o * s.map.in + s.map.taps[t].index) * s.inner;
        const auto weight = static_cast<C>(s.map.taps[t].weight);
        checkpoint(s.inner);
        for (std::int64_t i = 0; i < s.inner; ++i) to[i] += weight * from[i];
      }
    }
  }
}

// Elements of y with a coordinate outside of x take `value`.
template <class C>
void fill_outside(const ResizePlan& plan, const Shape& y, C value, C* to) {
  std::int64_t inner = y.size();
  std::int64_t outer = 1;
  for (std::size_t axis = 0; axis < y.rank(); ++axis) {
    inner = y[axis] == 0 ? 0 : inner / y[axis];
    for (std::int64_t k = 0; plan.maps[axis] && k < y[axis]; ++k) {
      if (!plan.maps[axis]->outside[static_cast<std::size_t>(k)]) continue;
      for (std::int64_t o = 0; o < outer; ++o) {
        checkpoint(inner);
        std::fill_n(to + (o * y[axis] + k) * inner, inner, value);
      }
    }
    outer *= y[axis];
  }
}

// The index of the one tap of each coordinate, for elements of any kind: rows of the last axis that
// is not merely copied, in pieces of the axes after it.
template <class T>
Kernel bind_nearest(const ResizePlan& plan, const Shape& x, const Shape& y) {
  std::size_t sampled = y.rank();  // axes
  while (sampled > 0 && !plan.maps[sampled - 1]) --sampled;
  const std::int64_t piece = x.size(sampled, x.rank());
  std::vector<std::vector<std::int64_t>> offsets(sampled);
  std::int64_t stride = piece;
  for (std::size_t axis = sampled; axis-- > 0;) {
    for (std::int64_t k = 0; k < y[axis]; ++k) {
      checkpoint(8);
      const auto at = static_cast<std::size_t>(k);
      offsets[axis].push_back((plan.maps[axis] ? plan.maps[axis]->taps[at].index : k) * stride);
    }
    stride *= x[axis];
  }
  const std::int64_t width = sampled == 0 ? 1 : y[sampled - 1];
  const std::int64_t rows = y.size() == 0 ? 0 : y.size() / piece / width;
  return [=](KernelContext& call) {
    const std::int64_t grain = 16384 / std::clamp<std::int64_t>(width * piece, 1, 16384);
    call.pool().for_chunks(rows, grain, [&](std::int64_t first, std::int64_t last) {
      std::int64_t copied = -1;  // where the row before came from
      for (auto row = first; row < last; ++row) {
        std::int64_t rest = row;
        std::int64_t offset = 0;
        for (std::size_t axis = sampled; axis-- > 1;) {
          const std::int64_t dim = y[axis - 1];
          offset += offsets[axis - 1][static_cast<std::size_t>(rest % dim)];
          rest /= dim;
        }
        const T* const from = call.in<T>(0) + offset;
        T* const to = call.out<T>(0) + row * width * piece;
        if (sampled == 0 || offset == copied) {
          std::copy_n(sampled == 0 ? from : to - width * piece, width * piece, to);
        } else if (piece == 1) {
          const std::int64_t* const at = offsets[sampled - 1].data();
          for_pieces(width, 1, [&](std::int64_t begin, std::int64_t end) {
            for (auto i = begin; i < end; ++i) to[i] = from[at[i]];
          });
        } else {
          for (std::int64_t i = 0; i < width; ++i) {
            checkpoint(piece);
            std::copy_n(from + offsets[sampled - 1][static_cast<std::size_t>(i)], piece,
                        to + i * piece);
          }
        }
        copied = offset;
      }
    });
  };
}

std::int64_t largest(const std::vector<Step>& steps) {
  std::int64_t size = 0;
  for (const Step& s : steps) {
    size = std::max({size, s.outer * s.map.in * s.inner, s.outer * s.map.out() * s.inner});
  }
  return size;
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const Shape y = *context.output_shape(0);
  const ResizePlan plan = make_resize_plan(context, x, y);
  const ResizeMode mode = read_resize_mode(context);
  const bool gather = mode.interpolation == Interpolation::nearest &&
                      mode.coordinates != Coordinates::tf_crop_and_resize;
  if (gather) {
    switch (size_of(context.dtype(0))) {
      case 1:
        return bind_nearest<std::uint8_t>(plan, x, y);
      case 2:
        return bind_nearest<std::uint16_t>(plan, x, y);
      case 4:
        return bind_nearest<std::uint32_t>(plan, x, y);
      case 8:
        return bind_nearest<std::uint64_t>(plan, x, y);
      case 16:
        return bind_nearest<std::complex<double>>(plan, x, y);
      default:
        fail(ErrorCode::unsupported, "no kernel for dtype ", context.dtype(0));
    }
  }
  const bool bytes = is_integer(context.dtype(0));
  return visit_compute(bytes ? DType::float32 : context.dtype(0), [&]<class C>() -> Kernel {
    std::vector<Step> steps = steps_of(plan, x, y);
    Scratch scratch;
    const ComputeIn<C> in(context, scratch, 0);
    const ComputeOut<C> out(context, scratch, 0, y.size());
    const std::size_t even = scratch.add<C>(largest(steps));
    const std::size_t odd = scratch.add<C>(largest(steps));
    scratch.request(context);
    return [=, steps = std::move(steps)](KernelContext& call) {
      const C* from = in(call);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool last = i + 1 == steps.size();
        C* to = last ? out.data(call) : Scratch::at<C>(call, i % 2 == 0 ? even : odd);
        forward_step<C>(steps[i], from, to);
        from = to;
      }
      C* to = out.data(call);
      if (steps.empty()) std::copy_n(from, y.size(), to);
      fill_outside<C>(plan, y, static_cast<C>(mode.extrapolation), to);
      if (bytes) {
        for (std::int64_t i = 0; i < y.size(); ++i) to[i] = std::trunc(to[i]);
      }
      out.store(call);
    };
  });
}

Kernel bind_grad(BindContext& context) {
  const Shape x = *context.output_shape(0);
  const Shape y = context.shape(0);
  const ResizePlan plan = make_resize_plan(context, x, y);
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    std::vector<Step> steps = steps_of(plan, x, y);
    Scratch scratch;
    const ComputeIn<C> in(context, scratch, 0);
    const ComputeOut<C> out(context, scratch, 0, x.size());
    const std::size_t even = scratch.add<C>(std::max(largest(steps), y.size()));
    const std::size_t odd = scratch.add<C>(std::max(largest(steps), y.size()));
    scratch.request(context);
    return [=, steps = std::move(steps)](KernelContext& call) {
      // Extrapolated elements do not depend on x.
      C* from = Scratch::at<C>(call, even);
      std::copy_n(in(call), y.size(), from);
      fill_outside<C>(plan, y, C{0}, from);
      bool flip = false;
      for (std::size_t i = steps.size(); i-- > 0;) {
        C* to = i == 0 ? out.data(call) : Scratch::at<C>(call, flip ? even : odd);
        backward_step<C>(steps[i], from, to);
        from = to;
        flip = !flip;
      }
      if (steps.empty()) std::copy_n(from, x.size(), out.data(call));
      out.store(call);
    };
  });
}

// The inputs of a Resize or Upsample node, whatever its version.
struct ResizeInputs {
  Val roi, scales, sizes;
};
ResizeInputs resize_inputs(const NodeView& node, auto&& x) {
  if (node.version() < 11) return {{}, x(1), {}};
  return {x(1), x(2), x(3)};
}

Attributes grad_attributes(GradContext& g) {
  Attributes attributes = g.node().attributes;
  if (g.version() >= 11) return attributes;
  // The modes of old versions by the attributes of the current one.
  std::erase_if(attributes, [](const Attribute& a) { return a.name != "mode"; });
  if (g.attr_string("mode", "nearest") == "bilinear") {
    attributes = {{"mode", std::string("linear")}};
  }
  attributes.emplace_back("coordinate_transformation_mode", std::string("asymmetric"));
  attributes.emplace_back("nearest_mode", std::string("floor"));
  return attributes;
}

std::vector<Val> grad(GradContext& g) {
  ResizeInputs inputs = resize_inputs(g, [&](std::size_t i) { return g.x(i); });
  if (!inputs.scales && !inputs.sizes) {
    const auto scales = attribute_scales(g);
    inputs.scales = g.builder().constant(
        Tensor::of<float>({static_cast<std::int64_t>(scales.size())}, scales), "scales");
  }
  return {g.builder().node(
      "ResizeGrad", {g.dy(0), inputs.roi, inputs.scales, inputs.sizes, graph::shape_of(g.x(0))},
      grad_attributes(g), ondine_domain)};
}

std::vector<Val> grad_of_grad(GradContext& g) {
  // Extrapolated elements are constant.
  Attributes attributes = g.node().attributes;
  std::erase_if(attributes, [](const Attribute& a) { return a.name == "extrapolation_value"; });
  return {g.builder().node("Resize", {g.dy(0), g.x(1), g.x(2), g.x(3)}, attributes)};
}

// A product with the matrix of each axis, which moves to the end for it.
std::vector<Val> expand_grad(ExpandContext& context) {
  Val dx = context.x(0);
  const Type& x = result_type(context);
  if (!x.ranked() && !dx.ranked()) {
    fail(ErrorCode::unsupported, "the derivative of Resize needs a known rank");
  }
  const std::size_t rank = x.ranked() ? x.rank() : dx.rank();
  const Dims in = x.ranked() ? *x.dims : Dims(rank);
  const Dims out = dx.ranked() ? dx.dims() : Dims(rank);
  const ResizeMode mode = read_resize_mode(context);
  for (const ResizedAxis& axis : resized_axes(context, in, out)) {
    std::vector<std::int64_t> perm(rank);
    std::iota(perm.begin(), perm.end(), std::int64_t{0});
    std::swap(perm[axis.axis], perm.back());
    const Val matrix = graph::cast(resize_weights(mode, axis), dx.dtype());
    dx = graph::transpose(graph::matmul(graph::transpose(dx, perm), matrix), perm);
  }
  return {dx};
}

}  // namespace

extern const OpDef resize{
    .name = "Resize", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b1110};
extern const OpDef upsample{
    .name = "Upsample", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};
extern const OpDef resize_grad{.name = "ResizeGrad",
                               .domain = ondine_domain,
                               .infer = infer_grad,
                               .bind = bind_grad,
                               .grad = grad_of_grad,
                               .expand = expand_grad,
                               .no_gradient = 0b11110};

}  // namespace ondine::kernels::ops
