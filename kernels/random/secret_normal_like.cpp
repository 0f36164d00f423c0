// secret_normal_like.cpp — SecretNormalLike (ai.ondine): RandomNormalLike without a seed, whose
// numbers come from a cryptographic generator (core/secure/secret_numbers.h) and differ in every
// call and run. The noise of training with privacy becomes it when a model asks for that.
#include "core/secure/secret_numbers.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/random/random_rows.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (!is_differentiable(context.dtype(0))) {
    fail(ErrorCode::invalid_model, "secret normal numbers of dtype ", context.dtype(0),
         ", needed: float16, bfloat16, float or double");
  }
  context.set_output(0, context.dtype(0), context.input(0).dims);
}

template <class T>
void draw(KernelContext& call, std::int64_t n, double mean, double scale) {
  const SecretStream numbers = SecretScope::stream(call.random().stream);
  T* const y = call.out<T>(0);
  call.pool().for_chunks(n, elementwise_grain, [&](std::int64_t first, std::int64_t last) {
    store_pairs(y, first, last, static_cast<std::uint64_t>(first), mean, scale,
                [&](std::uint64_t i) { return numbers.normal_pair(i); });
  });
}

Kernel bind(BindContext& context) {
  const std::int64_t n = context.output_shape(0)->size();
  if (static_cast<std::uint64_t>(n) > SecretStream::normals) {
    fail(ErrorCode::limit, "secret normal numbers for ", n, " elements, possible are ",
         SecretStream::normals);
  }
  const double mean = context.attr_float("mean", 0.0F);
  const double scale = context.attr_float("scale", 1.0F);
  return visit(context.output_dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) { draw<T>(call, n, mean, scale); };
  });
}

// Another engine draws by its own generator.
std::vector<Val> expand(ExpandContext& e) {
  return {e.builder().node("RandomNormalLike", {e.x(0)}, e.node().attributes)};
}

}  // namespace

extern const OpDef secret_normal_like{.name = "SecretNormalLike",
                                      .domain = ondine_domain,
                                      .infer = infer,
                                      .bind = bind,
                                      .expand = expand,
                                      .traits = {.shape_only = 1, .random = true},
                                      .no_gradient = any_input};

}  // namespace ondine::kernels::ops
