// im2col.cpp — Im2Col (ai.ondine): (image, block_shape) -> the image's blocks as columns. Its
// derivative is Col2Im.
#include "kernels/common/op.h"
#include "kernels/conv/sources/image_blocks.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Type& image = context.input(0);
  const auto block = context.known_ints(1);
  Dims x(3);
  if (image.ranked()) {
    if (image.rank() < 3) context.reject("the image must have rank 3 or more");
    x[0] = (*image.dims)[0];
    const auto shape = image.shape();
    if (shape && block) {
      const ImageBlocks blocks(context, {shape->begin() + 2, shape->end()}, *block);
      x[1] = multiply((*shape)[1], blocks.block);
      x[2] = blocks.count;
    }
  }
  context.set_output(0, image.dtype, x);
}

Kernel bind(BindContext& context) {
  const Shape image = context.shape(0);
  const ImageBlocks blocks(context, {image.begin() + 2, image.end()}, block_shape(context, 1));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return bind_image_blocks<C, false>(context, blocks, image[0] * image[1]);
  });
}

std::vector<Val> grad(GradContext& g) {
  const Val image = graph::slice(graph::shape_of(g.x(0)), 2, INT64_MAX, 0);
  return {g.builder().node("Col2Im", {g.dy(0), image, g.x(1)}, g.node().attributes)};
}

}  // namespace

extern const OpDef im2col{.name = "Im2Col",
                          .domain = ondine_domain,
                          .infer = infer,
                          .bind = bind,
                          .grad = grad,
                          .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
