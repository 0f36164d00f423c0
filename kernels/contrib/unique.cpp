// unique.cpp — com.microsoft Unique: the standard's of a vector, its elements in the order of their
// first occurrence. Outputs: the elements, the place of each x among them, their counts.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  check_call(context, {.outputs = 3});
  const Dims x = dims_of_rank(context, 0, 1, "x");
  context.set_output(0, context.dtype(0), Dims(1));
  context.set_output(1, DType::int64, x);
  context.set_output(2, DType::int64, Dims(1));
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(0);
  const auto ys = context.builder().nodes("Unique", {&x, 1}, {{"sorted", std::int64_t{0}}}, 4);
  return {ys[0], ys[2], ys[3]};
}

}  // namespace

extern const OpDef contrib_unique{
    .name = "Unique", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
