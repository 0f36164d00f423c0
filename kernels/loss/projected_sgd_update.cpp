// projected_sgd_update.cpp — ProjectedSgdUpdate (ai.ondine): w' = w - rate g, of (w, dloss, h,
// labels, logarithms, rate), g being what ProjectedWeightGrad computes of (dloss, h, w, labels,
// logarithms), with its attributes. g is never held as a whole. The results have the bits of
// ProjectedWeightGrad and SgdUpdate.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/loss/head_gradient.h"
#include "kernels/optimizer/optimizer_primitive.h"

namespace ondine::kernels::ops {
namespace {

constexpr HeadInputs inputs{.dloss = 1, .h = 2, .w = 0, .labels = 3, .logarithms = 4};
constexpr std::size_t rate_in = 5;

Kernel bind(BindContext& context) {
  return visit(context.dtype(inputs.w), Types<float, double>{}, [&]<class T>() -> Kernel {
    Scratch scratch;
    const HeadGradient<T> head(context, scratch, inputs, 0, false);
    context.set_implementation(head.name(), head.isa());
    scratch.request(context);
    return [=](KernelContext& call) {
      const math::Sgd<T> options{.rate = *call.in<T>(rate_in)};
      head.run(call, [&](const HeadBlock<T>& block, std::byte*) {
        for (std::int64_t i = 0; i < block.rows; ++i) {
          const std::int64_t at = block.first + i * block.step;
          math::sgd(call.pool(), options, block.length, call.in<T>(inputs.w) + at,
                    block.derivative + i * block.length, call.out<T>(0) + at);
        }
      });
    };
  });
}

std::vector<Val> expand(ExpandContext& context) {
  const Val w = context.x(inputs.w);
  const Val gradient =
      context.builder().node("ProjectedWeightGrad",
                             {context.x(inputs.dloss), context.x(inputs.h), w,
                              context.x(inputs.labels), context.x(inputs.logarithms)},
                             head_attributes(context), ondine_domain);
  return {w - gradient * context.x(rate_in)};
}

}  // namespace

extern const OpDef projected_sgd_update{.name = "ProjectedSgdUpdate",
                                        .domain = ondine_domain,
                                        .infer = infer_same_as_input,
                                        .bind = bind,
                                        .grad = grad_of_expansion,
                                        .expand = expand,
                                        .traits = {.inplace = 1, .cannot_fail = true}};

}  // namespace ondine::kernels::ops
