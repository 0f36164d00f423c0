// pad_grad.cpp — ai.ondine PadGrad(dy, shape, pads, axes): zeros of `shape` to which every element
// of dy is added where Pad took it from (modes reflect, edge, wrap);  d dy = Pad(ddx, ...).
#include "core/stop.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/expansion.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/common/strided_copy.h"
#include "kernels/layout/pad.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  context.set_output(0, context.dtype(0), dims_from_input(context, 1));
}

// Adds every element of dy, of shape y, to the sum of its source.
template <class T, class Sum>
void add_padded(const Shape& y, const std::vector<std::vector<std::int64_t>>& sources, const T* dy,
                Sum* sums) {
  if (y.size() == 0) return;
  const std::int64_t width = y.back();
  for_padded_rows(y, sources, 0, y.size() / width,
                  [&](std::int64_t at, std::int64_t offset, const std::int64_t* row) {
                    checkpoint(width);
                    for (std::int64_t k = 0; k < width; ++k) {
                      sums[offset + row[k]] += load(dy[at + k]);
                    }
                  });
}

// 16-bit floats are summed in float.
Kernel bind(BindContext& context) {
  const PadMode mode = pad_mode(context);
  const auto shape = context.output_shape(0);
  if (!shape) fail(ErrorCode::internal, "the shape of a derivative is not known");
  const Shape x = *shape;
  const Shape y = context.shape(0);
  if (x.rank() == 0) {
    return [dtype = context.dtype(0)](KernelContext& call) {
      copy_elements(call.pool(), dtype, 1, call.in<void>(0), call.out<void>(0));
    };
  }
  const IntegerParameter pads(context, 2);
  const IntegerParameter axes(context, 3);
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    using Sum = compute_t<T>;
    constexpr bool narrow = !std::is_same_v<T, Sum>;
    const std::int64_t n = x.size();
    Scratch scratch;
    if (narrow) scratch.add<Sum>(n);
    scratch.request(context);
    const auto run = [=](KernelContext& call, const auto& sources) {
      T* dx = call.out<T>(0);
      Sum* sums = narrow ? call.workspace<Sum>() : reinterpret_cast<Sum*>(dx);
      std::fill_n(sums, n, Sum(0));
      add_padded(y, sources, call.in<T>(0), sums);
      if constexpr (narrow) {
        for (std::int64_t i = 0; i < n; ++i) dx[i] = store<T>(sums[i]);
      }
    };
    const auto prepare = [=](const std::vector<std::int64_t>& p,
                             const std::vector<std::int64_t>& a) {
      const Pads resolved(x.rank(), p, a);
      if (!(resolved.padded(x) == y)) {
        fail(ErrorCode::mismatch, "dy has shape ", y, ", not ", resolved.padded(x));
      }
      return pad_sources(mode, x, resolved);
    };
    if (pads.known() && axes.known()) {
      return [run, sources = prepare(pads.values(), axes.values())](KernelContext& call) {
        run(call, sources);
      };
    }
    return [=](KernelContext& call) { run(call, prepare(pads.read(call), axes.read(call))); };
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("Pad", {g.dy(0), g.x(2), Val(), g.x(3)},
                           {{"mode", g.attr_string("mode", "")}})};
}

std::vector<Val> expand_pad(ExpandContext& context) {
  const Val shape = context.x(1);
  const Val sources =
      context.builder().node("Pad", {positions(shape), context.x(2), Val(), context.x(3)},
                             {{"mode", context.attr_string("mode", "")}});
  return {add_at(context.x(0), sources, shape)};
}

}  // namespace

extern const OpDef pad_grad{.name = "PadGrad",
                            .domain = ondine_domain,
                            .infer = infer,
                            .bind = bind,
                            .grad = grad,
                            .expand = expand_pad,
                            .no_gradient = 0b1110};

}  // namespace ondine::kernels::ops
