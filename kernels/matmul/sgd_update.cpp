// sgd_update.cpp — one step down a gradient in one pass over the variable (ai.ondine):
//   SgdUpdate      w' = w - rate g                        inputs w, g, rate (one element)
//   GemmSgdUpdate  w' = w - rate op(a) op(b)              inputs w, a, b, rate; transA, transB
// The gradient of a weight that nothing else reads is then never stored.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/matmul/rounded_factors.h"
#include "kernels/optimizer/optimizer_primitive.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
Kernel bind_sgd_update(BindContext& context) {
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
    const math::ThinSgdUpdate<T> options{.rate = *call.in<T>(3),
                                         .m = s.m,
                                         .n = s.n,
                                         .k = s.k,
                                         .a_row = s.trans_a ? 1 : s.k,
                                         .a_col = s.trans_a ? s.m : 1};
    math::thin_sgd_update(call.pool(), options, call.in<T>(0), call.in<T>(1), call.in<T>(2),
                          call.out<T>(0));
  };
}

template <class T>
Kernel bind_product(BindContext& context) {
  math::GemmShape s = product_shape(context);
  const bool thin = s.k <= math::ThinSgdUpdate<T>::max_terms && (!s.trans_b || s.k == 1);
  if (thin && s.k > 0) {
    context.set_implementation("thin_sgd", math::isa_name(math::simd_tables()));
    return bind_thin<T>(s);
  }
  // A plan stores factors in bfloat16 only where the product takes them.
  s.a_stored = storage_of<T>(context, 1);
  s.b_stored = storage_of<T>(context, 2);
  const math::GemmPrimitive<T> gemm(s, 1, context.threads(), product_kernels(context));
  context.request_workspace(gemm.workspace());
  context.set_implementation(gemm.name(), gemm.isa());
  return [gemm, s](KernelContext& call) {
    T* to = call.out<T>(0);
    const T* w = call.in<T>(0);
    const math::GemmOptions<T> options{
        .alpha = -*call.in<T>(3), .beta = 1, .addend = to == w ? nullptr : w};
    gemm.run(call.pool(), {}, elements_in<T>(call, 1, s.a_stored),
             elements_in<T>(call, 2, s.b_stored), to, options, call.workspace());
  };
}

Kernel bind(BindContext& context) {
  return visit(context.dtype(0), Types<float, double>{},
               [&]<class T>() -> Kernel { return bind_sgd_update<T>(context); });
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

extern const OpDef sgd_update{.name = "SgdUpdate",
                              .domain = ondine_domain,
                              .infer = infer_same_as_input,
                              .bind = bind,
                              .grad = grad_of_expansion,
                              .expand = expand,
                              .traits = {.inplace = 3, .cannot_fail = true}};
extern const OpDef gemm_sgd_update{.name = "GemmSgdUpdate",
                                   .domain = ondine_domain,
                                   .infer = infer_same_as_input,
                                   .bind = bind_gemm,
                                   .grad = grad_of_expansion,
                                   .expand = expand_gemm,
                                   .traits = {.inplace = 1, .cannot_fail = true},
                                   .rounded = rounds_factors<1>};

}  // namespace ondine::kernels::ops
