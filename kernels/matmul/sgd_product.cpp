#include "kernels/matmul/sgd_product.h"

#include "kernels/common/stored_input.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/optimizer/optimizer_primitive.h"

namespace ondine::kernels::ops {
namespace {

using graph::BindContext;
using graph::KernelContext;

// A product of few terms: each row of w is read and written once.
template <class T>
graph::Kernel bind_thin(const math::GemmShape& s, std::size_t w, std::size_t rate, std::size_t a) {
  return [=](KernelContext& call) {
    const math::ThinSgdUpdate<T> options{.rate = *call.in<T>(rate),
                                         .m = s.m,
                                         .n = s.n,
                                         .k = s.k,
                                         .a_row = s.trans_a ? 1 : s.k,
                                         .a_col = s.trans_a ? s.m : 1};
    math::thin_sgd_update(call.pool(), options, call.in<T>(w), call.in<T>(a), call.in<T>(a + 1),
                          call.out<T>(0));
  };
}

}  // namespace

template <class T>
graph::Kernel bind_sgd_product(BindContext& context, const math::GemmShape& s, std::size_t w,
                               std::size_t rate, std::size_t a) {
  const bool thin = s.k <= math::ThinSgdUpdate<T>::max_terms && (!s.trans_b || s.k == 1);
  const bool stored = s.a_stored == math::Storage::plain && s.b_stored == math::Storage::plain;
  if (thin && stored && s.k > 0) {
    context.set_implementation("thin_sgd", math::isa_name(math::simd_tables()));
    return bind_thin<T>(s, w, rate, a);
  }
  const math::GemmPrimitive<T> gemm(s, 1, context.threads(), product_kernels(context, w));
  context.request_workspace(gemm.workspace());
  context.set_implementation(gemm.name(), gemm.isa());
  return [=](KernelContext& call) {
    T* to = call.out<T>(0);
    const T* from = call.in<T>(w);
    const math::GemmOptions<T> options{
        .alpha = -*call.in<T>(rate), .beta = 1, .addend = to == from ? nullptr : from};
    gemm.run(call.pool(), {}, elements_in<T>(call, a, s.a_stored),
             elements_in<T>(call, a + 1, s.b_stored), to, options, call.workspace());
  };
}

template graph::Kernel bind_sgd_product<float>(BindContext&, const math::GemmShape&, std::size_t,
                                               std::size_t, std::size_t);
template graph::Kernel bind_sgd_product<double>(BindContext&, const math::GemmShape&, std::size_t,
                                                std::size_t, std::size_t);

}  // namespace ondine::kernels::ops
