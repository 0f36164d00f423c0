// descent.cpp — one step down a gradient in one pass over the variable (ai.ondine):
//   Descent      w' = w - rate g                        inputs w, g, rate (one element)
//   GemmDescent  w' = w - rate op(a) op(b)              inputs w, a, b, rate; transA, transB
// The gradient of a weight that nothing else reads is then never stored.
#include "kernels/math/gemm.h"
#include "kernels/math/optimizer.h"
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

// A product of few terms: each row of w is read and written once.
template <class T>
Kernel bind_thin(const math::GemmShape& s) {
  return [s](KernelContext& call) {
    const math::ThinDescent<T> options{.rate = *call.in<T>(3),
                                       .m = s.m,
                                       .n = s.n,
                                       .k = s.k,
                                       .a_row = s.trans_a ? 1 : s.k,
                                       .a_col = s.trans_a ? s.m : 1};
    math::thin_descent(call.pool(), options, call.in<T>(0), call.in<T>(1), call.in<T>(2),
                       call.out<T>(0));
  };
}

template <class T>
Kernel bind_product(BindContext& context) {
  const math::GemmShape s = product_shape(context);
  const bool thin = s.k <= math::ThinDescent<T>::most_terms && (!s.trans_b || s.k == 1);
  if (thin && s.k > 0) return bind_thin<T>(s);
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
                           .facts = {.inplace = 3, .cannot_fail = true}};
extern const OpDef gemm_descent{.name = "GemmDescent",
                                .domain = ondine_domain,
                                .infer = infer_same_as_input,
                                .bind = bind_gemm,
                                .grad = grad_of_expansion,
                                .expand = expand_gemm,
                                .facts = {.inplace = 1, .cannot_fail = true}};

}  // namespace ondine::kernels::ops
