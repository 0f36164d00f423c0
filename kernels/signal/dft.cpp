// dft.cpp — y_k = sum over j of x_j exp(-2 pi i jk / n) along an axis, with `inverse` exp(+...) /
// n; complex numbers are the last dim, [re, im] or [re]. x is cut or filled with 0 to n.
// `onesided`: the first n / 2 + 1 of y; with `inverse` x holds that many and y is real. Version 17
// has the axis as an attribute, 20 as an input. DftGrad (ai.ondine): (dy, dft_length, axis, shape
// of x) -> dx. Both are linear and each is the other's derivative.
#include <algorithm>
#include <memory>

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/signal/line_transform.h"

namespace ondine::kernels::ops {
namespace {

using math::LineTransform;

struct Mode {
  bool inverse, onesided;
  explicit Mode(const NodeView& node)
      : inverse(node.attr_int("inverse", 0) != 0), onesided(node.attr_int("onesided", 0) != 0) {}

  bool real_result() const { return inverse && onesided; }
  std::int64_t default_length(std::int64_t size) const {
    return real_result() ? 2 * (size - 1) : size;
  }
  std::int64_t result_size(std::int64_t n) const { return onesided && !inverse ? n / 2 + 1 : n; }
};

std::size_t signal_axis(std::int64_t axis, std::size_t rank) {
  if (rank < 2) fail(ErrorCode::mismatch, "a signal needs rank 2 or more, found ", rank);
  const std::size_t result = NodeView::normalize_axis(axis, rank);
  if (result + 1 == rank) fail(ErrorCode::mismatch, "axis ", axis, " is that of the complex parts");
  return result;
}

std::int64_t one(std::span<const std::int64_t> values, std::string_view what) {
  if (values.size() != 1) {
    fail(ErrorCode::mismatch, what, " has ", values.size(), " elements, needed: 1");
  }
  return values[0];
}

std::int64_t checked_length(std::int64_t n) {
  if (n < 1) fail(ErrorCode::mismatch, "dft_length is ", n, ", needed: 1 or more");
  return n;
}

void check_parts(const Dims& dims) {
  const Dim parts = dims.back();
  if (parts.known() && parts.size() != 1 && parts.size() != 2) {
    fail(ErrorCode::mismatch, "the last dim has ", parts.size(),
         " elements, needed: 1 (real) or 2 (complex)");
  }
}

// Axis: an attribute, or input 2 with a default.
template <class Context>
IntegerParameter axis_ints(const Context& context) {
  if (context.version() < 20) return IntegerParameter({context.attr_int("axis", 1)});
  if (!context.has_input(2)) return IntegerParameter({-2});
  return IntegerParameter(context, 2);
}
template <class Context>
IntegerParameter length_ints(const Context& context) {
  return context.has_input(1) ? IntegerParameter(context, 1) : IntegerParameter();
}

void infer(InferContext& context) {
  const Mode mode(context);
  const IntegerParameter axis = axis_ints(context);
  const IntegerParameter length = length_ints(context);
  const Type& x = context.input(0);
  if (!x.ranked()) return context.set_output(0, x.dtype, std::nullopt);
  if (x.rank() < 2) context.reject("a signal needs rank 2 or more, found ", x.rank());
  check_parts(*x.dims);
  Dims y = *x.dims;
  y.back() = mode.real_result() ? 1 : 2;
  if (!axis.known()) {
    std::fill(y.begin(), y.end() - 1, Dim());
    return context.set_output(0, x.dtype, y);
  }
  Dim& dim = y[signal_axis(one(axis.values(), "axis"), x.rank())];
  if (length.given()) {
    dim = length.known() ? Dim(mode.result_size(checked_length(one(length.values(), "dft_length"))))
                         : Dim();
  } else if (dim.known()) {
    dim = mode.result_size(checked_length(mode.default_length(dim.size())));
  } else if (mode.onesided) {
    dim = Dim();
  }
  context.set_output(0, x.dtype, y);
}

LineTransform::Lines lines_of(const Mode& mode, const Shape& x, const Shape& y, std::size_t axis,
                              std::int64_t n, bool adjoint) {
  const auto parts = [](const Shape& shape) { return shape.back(); };
  LineTransform::Lines lines{.in = AxisView(adjoint ? y : x, axis),
                             .out = AxisView(adjoint ? x : y, axis),
                             .in_parts = parts(adjoint ? y : x),
                             .out_parts = parts(adjoint ? x : y),
                             .n = n,
                             .results = n};
  lines.hermitian = mode.real_result() && !adjoint;
  lines.positive = mode.inverse != adjoint;
  if (mode.inverse) lines.scale = 1 / static_cast<double>(n);
  lines.doubled = mode.real_result() && adjoint;
  if (lines.doubled) lines.results = n / 2 + 1;
  return lines;
}

// Axis and length of a call, when they are known.
struct Parameters {
  IntegerParameter axis, length;
  std::size_t resolve_axis(const KernelContext* call, std::size_t rank) const {
    return signal_axis(one(call == nullptr ? axis.values() : axis.read(*call), "axis"), rank);
  }
  std::int64_t resolve_length(const KernelContext* call, const Mode& mode, std::int64_t dim) const {
    if (!length.given()) return checked_length(mode.default_length(dim));
    return checked_length(
        one(call == nullptr ? length.values() : length.read(*call), "dft_length"));
  }
};

Kernel bind_known(BindContext& context, const LineTransform::Lines& lines) {
  const auto transform = std::make_shared<const LineTransform>(lines);
  Scratch scratch;
  if (context.dtype(0) == DType::float32 && transform->has_rows()) {
    const std::size_t memory = scratch.add<double>(transform->rows_scratch());
    scratch.request(context);
    return [=](KernelContext& call) {
      transform->run_rows(call.pool(), call.in<float>(0), call.out<float>(0),
                          Scratch::at<double>(call, memory));
    };
  }
  const ComputeIn<double> in(context, scratch, 0);
  const ComputeOut<double> out(context, scratch, 0,
                               lines.out.outer * lines.out.dim * lines.out.inner);
  const std::size_t memory = scratch.add<std::complex<double>>(transform->scratch());
  scratch.request(context);
  return [=](KernelContext& call) {
    transform->run(call.pool(), in(call), out.data(call),
                   Scratch::at<std::complex<double>>(call, memory));
    out.store(call);
  };
}

Kernel bind(BindContext& context) {
  const Mode mode(context);
  const Parameters parameters{axis_ints(context), length_ints(context)};
  const Shape x = context.shape(0);
  if (const auto y = context.output_shape(0)) {
    if (parameters.axis.known() && parameters.length.known()) {
      const std::size_t axis = parameters.resolve_axis(nullptr, x.rank());
      const std::int64_t n = parameters.resolve_length(nullptr, mode, x[axis]);
      return bind_known(context, lines_of(mode, x, *y, axis, n, false));
    }
  }
  const Output output(context, 0);
  const DType dtype = context.dtype(0);
  return [=](KernelContext& call) {
    const std::size_t axis = parameters.resolve_axis(&call, x.rank());
    const std::int64_t n = parameters.resolve_length(&call, mode, x[axis]);
    Shape y = x;
    y[axis] = mode.result_size(n);
    y[x.rank() - 1] = mode.real_result() ? 1 : 2;
    void* to = output.memory(call, y);
    const LineTransform transform(lines_of(mode, x, y, axis, n, false));
    std::vector<double> from(static_cast<std::size_t>(x.size()));
    std::vector<double> result(static_cast<std::size_t>(y.size()));
    if (const auto read = read_row<double>(dtype)) {
      read(from.data(), call.in<void>(0), x.size());
    } else {
      std::copy_n(call.in<double>(0), x.size(), from.data());
    }
    std::vector<std::complex<double>> memory(static_cast<std::size_t>(transform.scratch()));
    transform.run(call.pool(), from.data(), result.data(), memory.data());
    if (const auto write = write_row<double>(dtype)) {
      write(to, result.data(), y.size());
    } else {
      std::copy_n(result.data(), y.size(), static_cast<double*>(to));
    }
  };
}

Attributes mode_attributes(const NodeView& node) {
  return {{"inverse", node.attr_int("inverse", 0)}, {"onesided", node.attr_int("onesided", 0)}};
}

Val axis_value(GradContext& g) {
  if (g.version() < 20) return g.builder().int64(g.attr_int("axis", 1));
  return g.x(2) ? g.x(2) : g.builder().int64(-2);
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("DftGrad", {g.dy(0), g.x(1), axis_value(g), graph::shape_of(g.x(0))},
                           mode_attributes(g), ondine_domain)};
}

void infer_grad(InferContext& context) {
  context.set_output(0, context.dtype(0), dims_from_input(context, 3));
}

Kernel bind_grad(BindContext& context) {
  const Mode mode(context);
  const Parameters parameters{IntegerParameter(context, 2), length_ints(context)};
  const auto x = context.output_shape(0);
  if (!x || !parameters.axis.known() || !parameters.length.known()) {
    fail(ErrorCode::unsupported,
         "the derivative of DFT needs an axis and a length known when the "
         "node is bound");
  }
  const std::size_t axis = parameters.resolve_axis(nullptr, x->rank());
  const std::int64_t n = parameters.resolve_length(nullptr, mode, (*x)[axis]);
  const Shape y = context.shape(0);
  Shape want = *x;
  want[axis] = mode.result_size(n);
  want[x->rank() - 1] = mode.real_result() ? 1 : 2;
  if (!(y == want)) fail(ErrorCode::mismatch, "dy has shape ", y, ", needed: ", want);
  return bind_known(context, lines_of(mode, *x, y, axis, n, true));
}

std::vector<Val> grad_of_grad(GradContext& g) {
  return {g.builder().node("DFT", {g.dy(0), g.x(1), g.x(2)}, mode_attributes(g))};
}

// x in the first `size` elements of an axis: zeros are added, or the rest is cut off.
Val resized(Val x, std::int64_t axis, Dim have, std::int64_t size) {
  Builder& b = x.builder();
  if (have.same(size)) return x;
  if (have.known() && have.size() < size) {
    return b.node("Pad", {x, b.int64s({0, size - have.size()}), Val(), b.int64s({axis})});
  }
  return graph::slice(x, 0, size, axis);
}

// The adjoint of a transform is the inverse one but for the factor.
std::vector<Val> expand_grad(ExpandContext& context) {
  const bool inverse = context.attr_int("inverse", 0) != 0;
  const bool onesided = context.attr_int("onesided", 0) != 0;
  const Type x = result_type(context);
  const auto given = constant_integers(context.x(2));
  const auto length =
      context.x(1) ? constant_integers(context.x(1)) : std::optional(std::vector<std::int64_t>());
  if (!x.ranked() || !given || given->size() != 1 || !length || (inverse && onesided)) {
    fail(ErrorCode::unsupported, "this derivative of DFT has no expansion");
  }
  const auto at = NodeView::normalize_axis((*given)[0], x.rank());
  const auto axis = static_cast<std::int64_t>(at);
  const Dim size = (*x.dims)[at];
  if (!size.known() || !x.dims->back().known()) {
    fail(ErrorCode::unsupported, "the derivative of DFT needs known dims");
  }
  const std::int64_t n = length->empty() ? size.size() : (*length)[0];
  Val dy = context.x(0);
  if (onesided) dy = resized(dy, axis, n / 2 + 1, n);
  Val dx = context.builder().node("DFT", {dy, Val(), context.builder().int64(axis)},
                                  {{"inverse", std::int64_t{!inverse}}});
  dx = inverse ? dx / static_cast<double>(n) : dx * static_cast<double>(n);
  dx = resized(dx, axis, n, size.size());
  return {x.dims->back().size() == 1 ? graph::slice(dx, 0, 1, -1) : dx};
}

}  // namespace

extern const OpDef dft{
    .name = "DFT", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b110};
extern const OpDef dft_grad{.name = "DftGrad",
                            .domain = ondine_domain,
                            .infer = infer_grad,
                            .bind = bind_grad,
                            .grad = grad_of_grad,
                            .expand = expand_grad,
                            .no_gradient = 0b1110};

}  // namespace ondine::kernels::ops
