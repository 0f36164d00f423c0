// binarizer.cpp — y = 1 where x > threshold, else 0.
#include "kernels/elementwise/unary.h"
#include "kernels/ml/post_transform.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
T above(T x, const Params& params) {
  return static_cast<double>(x) > static_cast<double>(params.a) ? T(1) : T(0);
}

struct Above {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      for (std::int64_t i = 0; i < row.n; ++i) row.out<T>()[i] = above(row.in<T>(0)[i], row.params);
    };
  }
};

Kernel bind(BindContext& context) {
  using Inputs = Types<float, double, std::int64_t, std::int32_t>;
  return elementwise(context, pick_row<Above>(context.dtype(0), Inputs{}),
                     {.a = context.attr_float("threshold", 0), .b = 0});
}

}  // namespace

extern const OpDef binarizer{.name = "Binarizer",
                             .domain = ml_domain,
                             .infer = infer_same_as_input,
                             .bind = bind,
                             .traits = {.inplace = 1, .cheap = true},
                             .no_gradient = 1};

}  // namespace ondine::kernels::ops
