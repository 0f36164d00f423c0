// descent.cpp — one step down a gradient in one pass over the variable (ai.ondine):
//   Descent      w' = w - rate g                        inputs w, g, rate (one element)
//   GemmDescent  w' = w - rate op(a) op(b)              inputs w, a, b, rate; transA, transB
// The gradient of a weight that nothing else reads is then never stored.
#include "kernels/math/gemm.h"
#include "kernels/math/optimizer.h"
#include "kernels/math/vector.h"
#include "kernels/ops/expansion.h"
#include "kernels/ops/op.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
Kernel bind_descent(BindContext& context) {
  const std::int64_t n = context.shape(0).size();
  return [n](KernelContext& call) {
    const math::Sgd<T> options{.rate = *call.in<T>(2)};
    math::sgd(call.pool(), options, n, call.in<T>(0), call.in<T>(1), call.out<T>(0));
  };
}

math::GemmShape product_shape(const BindContext& context) {
  const bool trans_a = context.attr_int("transA", 0) != 0;
  const bool trans_b = context.attr_int("transB", 0) != 0;
  const Shape w = context.shape(0);
  return {.m = w[0],
          .n = w[1],
          .k = context.shape(1)[trans_a ? 0 : 1],
          .trans_a = trans_a,
          .trans_b = trans_b};
}

// A product of few columns and rows: each row of w is read and written once.
template <class T>
Kernel bind_thin(const math::GemmShape& s) {
  return [s](KernelContext& call) {
    const auto& rows = math::vector_kernels<T>();
    const T* w = call.in<T>(0);
    const T* a = call.in<T>(1);
    const T* b = call.in<T>(2);
    T* to = call.out<T>(0);
    const T rate = *call.in<T>(3);
    const std::int64_t grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, s.n));
    call.pool().for_chunks(s.m, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        T* row = to + i * s.n;
        if (to != w) rows.copy(row, w + i * s.n, s.n);
        for (std::int64_t k = 0; k < s.k; ++k) {
          rows.axpy(row, -rate * a[s.trans_a ? k * s.m + i : i * s.k + k], b + k * s.n, s.n);
        }
      }
    });
  };
}

template <class T>
Kernel bind_product(BindContext& context) {
  constexpr std::int64_t thin = 4;
  const math::GemmShape s = product_shape(context);
  if (s.k <= thin && (!s.trans_b || s.k == 1)) return bind_thin<T>(s);
  const std::size_t bytes = math::gemm_workspace<T>(s, 1, context.threads());
  context.request_workspace(bytes);
  return [s, bytes](KernelContext& call) {
    T* to = call.out<T>(0);
    const T* w = call.in<T>(0);
    const math::GemmOptions<T> options{
        .alpha = -*call.in<T>(3), .beta = 1, .addend = to == w ? nullptr : w};
    math::gemm<T>(call.pool(), s, call.in<T>(1), call.in<T>(2), to, options,
                  {call.workspace(), bytes});
  };
}

Kernel bind(BindContext& context) {
  return visit(context.dtype(0), Types<float, double>{},
               [&]<class T>() -> Kernel { return bind_descent<T>(context); });
}

Kernel bind_gemm(BindContext& context) {
  return visit(context.dtype(0), Types<float, double>{},
               [&]<class T>() -> Kernel { return bind_product<T>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  return {context.x(0) - context.x(1) * context.x(2)};
}

std::vector<Val> expand_gemm(ExpandContext& context) {
  const Val product = context.builder().node(
      "Gemm", {context.x(1), context.x(2)},
      {{"transA", context.attr_int("transA", 0)}, {"transB", context.attr_int("transB", 0)}});
  return {context.x(0) - product * context.x(3)};
}

}  // namespace

extern const OpDef descent{.name = "Descent",
                           .domain = ondine_domain,
                           .infer = infer_same_as_input,
                           .bind = bind,
                           .grad = grad_of_expansion,
                           .expand = expand,
                           .facts = {.inplace = 3}};
extern const OpDef gemm_descent{.name = "GemmDescent",
                                .domain = ondine_domain,
                                .infer = infer_same_as_input,
                                .bind = bind_gemm,
                                .grad = grad_of_expansion,
                                .expand = expand_gemm,
                                .facts = {.inplace = 1}};

}  // namespace ondine::kernels::ops
