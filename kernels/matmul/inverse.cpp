// inverse.cpp — com.microsoft Inverse: y = x^-1 over the last two dims, NaN where x is singular or
// has elements that are not finite;  dx = -y^T dy y^T.
#include <limits>

#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"
#include "kernels/matmul/checked_lu.h"

namespace ondine::kernels::ops {
namespace {

using Matrix = SquareMatrix;

void infer(InferContext& context) {
  if (!is_differentiable(context.dtype(0))) {
    context.reject("X is ", context.dtype(0), ", needed: float, double, float16 or bfloat16");
  }
  if (context.ranked(0)) {
    const Dims& x = context.dims(0);
    if (x.size() < 2) context.reject("X must have rank 2 or more, found ", graph::to_string(x));
    unify(x[x.size() - 2], x.back(), "dims of a square matrix");
  }
  infer_same_as_input(context);
}

void invert(const double* x, std::int64_t n, double* y) {
  const Eigen::Map<const Matrix> a(x, n, n);
  Eigen::Map<Matrix> to(y, n, n);
  to.setConstant(std::numeric_limits<double>::quiet_NaN());
  if (n == 0 || !a.allFinite()) return;
  if (n > unchecked_rows) {
    if (!invert_checked(a, to)) to.setConstant(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Eigen::PartialPivLU<Matrix> lu(a);
  if ((lu.matrixLU().diagonal().array() == 0).any()) return;
  to = lu.inverse();
}

Kernel bind(BindContext& context) {
  const Shape shape = context.shape(0);
  const std::int64_t n = shape.back();
  const std::int64_t count = shape.size(0, shape.rank() - 2);
  Scratch scratch;
  const ComputeIn<double> x(context, scratch, 0);
  const ComputeOut<double> y(context, scratch, 0, shape.size());
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = x(call);
    double* to = y.data(call);
    call.pool().for_chunks(count, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) invert(from + i * n * n, n, to + i * n * n);
    });
    y.store(call);
  };
}

std::vector<Val> grad(GradContext& g) {
  const auto product = [&](Val a, Val b, bool trans_a, bool trans_b) {
    return g.builder().node("MatMulT", {a, b},
                            {{"transA", std::int64_t{trans_a}}, {"transB", std::int64_t{trans_b}}},
                            ondine_domain);
  };
  return {-product(product(g.y(0), g.dy(0), true, false), g.y(0), false, true)};
}

}  // namespace

extern const OpDef inverse{
    .name = "Inverse", .domain = "com.microsoft", .infer = infer, .bind = bind, .grad = grad};

}  // namespace ondine::kernels::ops
