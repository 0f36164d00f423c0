// pad.cpp — y = x with elements added before and after each axis: a constant, or x's own (reflect,
// edge, wrap);  constant: dx = dy with the pads cut off, d value = the sum of dy over the padding;
// others: PadGrad. Version 1 and 2 have attributes (paddings, pads), 11 inputs; 18 adds axes, 19
// wrap.
#include "kernels/layout/pad.h"

#include <algorithm>

#include "core/checked.h"
#include "kernels/common/copy_kernel.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/kernel_output.h"

namespace ondine::kernels {

PadMode pad_mode(const graph::NodeView& node) {
  const std::string word = node.attr_string("mode", "constant");
  if (word == "constant") return PadMode::constant;
  if (word == "reflect") return PadMode::reflect;
  if (word == "edge") return PadMode::edge;
  if (word == "wrap") return PadMode::wrap;
  fail(ErrorCode::invalid_model, "unknown padding mode ", quoted(word));
}

Pads::Pads(std::size_t rank, std::span<const std::int64_t> pads, std::span<const std::int64_t> axes)
    : begin(rank), end(rank) {
  const std::size_t n = axes.empty() ? rank : axes.size();
  if (pads.size() != 2 * n) {
    fail(ErrorCode::mismatch, pads.size(), " pads for ", n, " axes, not ", 2 * n);
  }
  const auto chosen = normalize_axes(axes, rank);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t a = axes.empty() ? i : chosen[i];
    begin[a] = pads[i];
    end[a] = pads[n + i];
  }
}

Shape Pads::padded(const Shape& x) const {
  Shape out = x;
  for (std::size_t a = 0; a < x.rank(); ++a) {
    out[a] = checked_add(checked_add(x[a], begin[a]), end[a]);
    if (out[a] < 0) {
      fail(ErrorCode::mismatch, "pads ", begin[a], " and ", end[a], " leave axis ", a, " of size ",
           x[a], " with a negative size");
    }
  }
  static_cast<void>(out.size());
  return out;
}

namespace {

std::int64_t modulo(std::int64_t i, std::int64_t n) {
  const std::int64_t rest = i % n;
  return rest < 0 ? rest + n : rest;
}

std::int64_t source(PadMode mode, std::int64_t i, std::int64_t n) {
  if (mode == PadMode::edge) return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == PadMode::wrap || n == 1) return modulo(i, n);
  const std::int64_t period = 2 * (n - 1);
  const std::int64_t at = modulo(i, period);
  return at < n ? at : period - at;
}

}  // namespace

std::vector<std::vector<std::int64_t>> pad_sources(PadMode mode, const Shape& x, const Pads& pads) {
  const Shape y = pads.padded(x);
  const auto strides = row_major(x);
  std::vector<std::vector<std::int64_t>> out(x.rank());
  if (y.size() == 0) return out;
  for (std::size_t a = 0; a < x.rank(); ++a) {
    if (x[a] == 0) fail(ErrorCode::mismatch, "axis ", a, " has no elements to pad with");
    for (std::int64_t i = 0; i < y[a]; ++i) {
      out[a].push_back(source(mode, i - pads.begin[a], x[a]) * strides[a]);
    }
  }
  return out;
}

namespace ops {
namespace {

template <class Context>
std::vector<IntegerParameter> parameters_of(const Context& context) {
  const IntegerParameter axes =
      context.version() >= 18 ? IntegerParameter(context, 3) : IntegerParameter();
  return {IntegerParameter(context, context.version() == 1 ? "paddings" : "pads", 11, 1), axes};
}

void infer(InferContext& context) {
  pad_mode(context);
  const auto parameters = parameters_of(context);
  if (context.has_input(2) && context.version() >= 11 && context.dtype(2) != context.dtype(0)) {
    context.reject("the padding value is ", context.dtype(2), ", the data ", context.dtype(0));
  }
  if (!parameters[0].given())
    fail(ErrorCode::invalid_model, "input or attribute \"pads\" is missing");
  if (!context.ranked(0)) return context.set_output(0, context.dtype(0), std::nullopt);
  Dims dims = context.dims(0);
  if (!parameters[0].known() || !parameters[1].known()) {
    return context.set_output(0, context.dtype(0), Dims(dims.size()));
  }
  const Pads pads(dims.size(), parameters[0].values(), parameters[1].values());
  for (std::size_t a = 0; a < dims.size(); ++a) {
    if (dims[a].known()) {
      Shape size{dims[a].size()};
      size[0] = checked_add(checked_add(size[0], pads.begin[a]), pads.end[a]);
      if (size[0] < 0) context.reject("pads leave axis ", a, " with size ", size[0]);
      dims[a] = size[0];
    } else if (pads.begin[a] != 0 || pads.end[a] != 0) {
      dims[a] = Dim();
    }
  }
  context.set_output(0, context.dtype(0), std::move(dims));
}

// The part of x that is kept, copied to its position in y.
ShapedCopy constant_move(DType dtype, const Shape& x, const Pads& pads) {
  const Shape y = pads.padded(x);
  const auto from = row_major(x);
  const auto to = row_major(y);
  std::vector<StridedCopy::Axis> axes;
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  for (std::size_t a = 0; a < x.rank(); ++a) {
    const std::int64_t first = std::max<std::int64_t>(0, -pads.begin[a]);
    const std::int64_t last = std::min(x[a], y[a] - pads.begin[a]);
    axes.push_back({std::max<std::int64_t>(0, last - first), from[a], to[a]});
    from_offset += first * from[a];
    to_offset += std::max<std::int64_t>(0, pads.begin[a]) * to[a];
  }
  return {y, StridedCopy(dtype, axes, from_offset, to_offset)};
}

Kernel bind_constant(BindContext& context) {
  CopyOptions options{.fill = true};
  if (context.version() < 11) {
    const float value = context.attr_float("value", 0);
    options.fill_value = visit(context.dtype(0), Floats{}, [&]<class T>() {
      return Tensor::scalar(store<T>(static_cast<compute_t<T>>(value)));
    });
  } else if (context.has_input(2)) {
    if (context.shape(2).size() != 1) {
      fail(ErrorCode::mismatch, "the padding value has shape ", context.shape(2));
    }
    options.fill_input = 2;
  }
  return bind_copy(
      context, parameters_of(context),
      [x = context.shape(0), dtype = context.dtype(0)](CopyParameters parameters) {
        return constant_move(dtype, x, Pads(x.rank(), parameters[0], parameters[1]));
      },
      options);
}

Kernel bind(BindContext& context) {
  const PadMode mode = pad_mode(context);
  const Shape x = context.shape(0);
  if (mode == PadMode::constant || x.rank() == 0) return bind_constant(context);
  const auto parameters = parameters_of(context);
  const Output output(context, 0);
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    const auto run = [](KernelContext& call, const Shape& y, const auto& sources, T* to) {
      const T* from = call.in<T>(0);
      if (y.size() == 0) return;
      const std::int64_t width = y.back();
      const std::int64_t grain = std::max<std::int64_t>(1, 16384 / width);
      call.pool().for_chunks(y.size() / width, grain, [&](std::int64_t first, std::int64_t last) {
        for_padded_rows(y, sources, first, last,
                        [&](std::int64_t at, std::int64_t offset, const std::int64_t* row) {
                          for (std::int64_t k = 0; k < width; ++k)
                            to[at + k] = from[offset + row[k]];
                        });
      });
    };
    if (parameters[0].known() && parameters[1].known()) {
      const Pads pads(x.rank(), parameters[0].values(), parameters[1].values());
      return [=, y = pads.padded(x), sources = pad_sources(mode, x, pads)](KernelContext& call) {
        run(call, y, sources, output.memory<T>(call, y));
      };
    }
    return [=](KernelContext& call) {
      const Pads pads(x.rank(), parameters[0].read(call), parameters[1].read(call));
      // The output is allocated first: it is charged to the budget, the sources are not.
      const Shape y = pads.padded(x);
      T* to = output.memory<T>(call, y);
      run(call, y, pad_sources(mode, x, pads), to);
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  const Val dy = g.dy(0);
  const Val pads =
      g.version() >= 11 ? g.x(1) : b.int64s(g.attr_ints(g.version() == 1 ? "paddings" : "pads"));
  const Val axes = g.version() >= 18 ? g.x(3) : Val();
  if (pad_mode(g) != PadMode::constant) {
    return {b.node("PadGrad", {dy, shape_of(g.x(0)), pads, axes},
                   {{"mode", g.attr_string("mode", "")}}, ondine_domain)};
  }
  const Val dx = b.node("Pad", {dy, -pads, Val(), axes});
  if (!g.has_input(2) || !g.wants(2)) return {dx};
  const Val rest = reduce_sum(dy, {}, false) - reduce_sum(dx, {}, false);
  return {dx, Val(), reshape_like(rest, g.x(2))};
}

}  // namespace

extern const OpDef pad{
    .name = "Pad", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b1010};

}  // namespace ops
}  // namespace ondine::kernels
