// col2im.cpp — the columns of x are added to the blocks of y that they stand for. The adjoint of
// Im2Col, which is its derivative.
#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/conv/sources/image_blocks.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const auto image = context.known_ints(1);
  const auto block = context.known_ints(2);
  const Dims x = dims_of_rank(context, 0, 3, "input");
  Dims y{x[0]};
  if (image && block) {
    const ImageBlocks blocks(context, *image, *block);
    unify(x[2], blocks.count, "numbers of blocks");
    if (x[1].known() && x[1].size() % blocks.block != 0) {
      context.reject(x[1].size(), " rows are not a multiple of the block size ", blocks.block);
    }
    y.push_back(x[1].known() ? Dim(x[1].size() / blocks.block) : Dim());
    y.insert(y.end(), image->begin(), image->end());
    return context.set_output(0, context.dtype(0), y);
  }
  const auto spatial = dims_from_input(context, 1);
  if (!spatial) return context.set_output(0, context.dtype(0), std::nullopt);
  y.emplace_back();
  y.insert(y.end(), spatial->begin(), spatial->end());
  context.set_output(0, context.dtype(0), y);
}

Kernel bind(BindContext& context) {
  const Shape y = *context.output_shape(0);
  const ImageBlocks blocks(context, {y.begin() + 2, y.end()}, block_shape(context, 2));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return bind_image_blocks<C, true>(context, blocks, y[0] * y[1]);
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("Im2Col", {g.dy(0), g.x(2)}, g.node().attributes, ondine_domain)};
}

}  // namespace

extern const OpDef col2im{
    .name = "Col2Im", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b110};

}  // namespace ondine::kernels::ops
