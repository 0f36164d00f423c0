// col2im.cpp — y = 0, then each column of x is added to the block of y that it stands for; the
// adjoint of taking blocks. Im2Col (ai.ondine): (y, block_shape) -> x; each is the other's
// derivative.
#include "core/checked.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/sliding_window.h"

namespace ondine::kernels::ops {
namespace {

// Blocks of an image: the window's axes over the image's extents.
struct Blocks {
  std::vector<std::int64_t> image;
  std::vector<std::int64_t> out;  // blocks along each axis
  Window window;
  std::int64_t block = 1;
  std::int64_t count = 1;
  std::int64_t pixels = 1;

  Blocks(const NodeView& node, std::vector<std::int64_t> extents,
         const std::vector<std::int64_t>& block_shape)
      : image(std::move(extents)) {
    if (image.size() != block_shape.size() || image.empty()) {
      fail(ErrorCode::mismatch, "image_shape has ", image.size(), " extents, block_shape ",
           block_shape.size());
    }
    window = read_window(node, block_shape);
    for (std::size_t i = 0; i < image.size(); ++i) {
      if (image[i] < 1) fail(ErrorCode::mismatch, "image extent ", image[i]);
      out.push_back(resolve(window.axes[i], image[i], AutoPad::notset, false));
      block = checked_mul(block, block_shape[i]);
      count = checked_mul(count, out[i]);
      pixels = checked_mul(pixels, image[i]);
    }
  }

  // Where element k of block b lies in the image; -1 in the padding.
  std::int64_t pixel(std::int64_t k, std::int64_t b) const {
    std::int64_t offset = 0;
    std::int64_t stride = 1;
    for (std::size_t i = image.size(); i-- > 0;) {
      const WindowAxis& a = window.axes[i];
      const std::int64_t p = b % out[i] * a.stride + k % a.kernel * a.dilation - a.begin;
      if (p < 0 || p >= image[i]) return -1;
      offset += p * stride;
      stride *= image[i];
      b /= out[i];
      k /= a.kernel;
    }
    return offset;
  }
};

void infer(InferContext& context) {
  const auto image = context.known_ints(1);
  const auto block = context.known_ints(2);
  const Dims x = dims_of_rank(context, 0, 3, "input");
  Dims y{x[0]};
  if (image && block) {
    const Blocks blocks(context, *image, *block);
    unify(x[2], blocks.count, "numbers of blocks");
    if (x[1].known() && x[1].size() % blocks.block != 0) {
      context.reject(x[1].size(), " rows do not divide into blocks of ", blocks.block);
    }
    y.push_back(x[1].known() ? Dim(x[1].size() / blocks.block) : Dim());
    y.insert(y.end(), image->begin(), image->end());
    return context.set_output(0, context.dtype(0), y);
  }
  const auto spatial = spelled_dims(context, 1);
  if (!spatial) return context.set_output(0, context.dtype(0), std::nullopt);
  y.emplace_back();
  y.insert(y.end(), spatial->begin(), spatial->end());
  context.set_output(0, context.dtype(0), y);
}

std::vector<std::int64_t> block_shape(const BindContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  if (tensor == nullptr) {
    fail(ErrorCode::unsupported, "block_shape must be known when the node is bound");
  }
  const auto values = tensor->values<std::int64_t>();
  return {values.begin(), values.end()};
}

template <class C, bool to_image>
Kernel bind_as(BindContext& context, const Blocks& blocks, std::int64_t planes) {
  Scratch scratch;
  const ComputeIn<C> x(context, scratch, 0);
  const ComputeOut<C> y(context, scratch, 0,
                        planes * (to_image ? blocks.pixels : blocks.block * blocks.count));
  scratch.request(context);
  return [=](KernelContext& call) {
    const C* from = x(call);
    C* to = y.data(call);
    call.pool().for_chunks(planes, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto plane = first; plane < last; ++plane) {
        if (to_image) std::fill_n(to + plane * blocks.pixels, blocks.pixels, C{0});
        for (std::int64_t k = 0; k < blocks.block; ++k) {
          for (std::int64_t b = 0; b < blocks.count; ++b) {
            const std::int64_t pixel = blocks.pixel(k, b);
            const std::int64_t column = (plane * blocks.block + k) * blocks.count + b;
            if (!to_image) {
              to[column] = pixel < 0 ? C{0} : from[plane * blocks.pixels + pixel];
            } else if (pixel >= 0) {
              to[plane * blocks.pixels + pixel] += from[column];
            }
          }
        }
      }
    });
    y.store(call);
  };
}

Kernel bind(BindContext& context) {
  const Shape y = *context.output_shape(0);
  const Blocks blocks(context, {y.begin() + 2, y.end()}, block_shape(context, 2));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return bind_as<C, true>(context, blocks, y[0] * y[1]);
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("Im2Col", {g.dy(0), g.x(2)}, g.node().attributes, ondine_domain)};
}

void infer_im2col(InferContext& context) {
  const Type& image = context.input(0);
  const auto block = context.known_ints(1);
  Dims x(3);
  if (image.ranked()) {
    if (image.rank() < 3) context.reject("the image must have rank 3 or more");
    x[0] = (*image.dims)[0];
    const auto shape = image.shape();
    if (shape && block) {
      const Blocks blocks(context, {shape->begin() + 2, shape->end()}, *block);
      x[1] = multiply((*shape)[1], blocks.block);
      x[2] = blocks.count;
    }
  }
  context.set_output(0, image.dtype, x);
}

Kernel bind_im2col(BindContext& context) {
  const Shape image = context.shape(0);
  const Blocks blocks(context, {image.begin() + 2, image.end()}, block_shape(context, 1));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return bind_as<C, false>(context, blocks, image[0] * image[1]);
  });
}

std::vector<Val> grad_of_im2col(GradContext& g) {
  const Val image = graph::slice(graph::shape_of(g.x(0)), 2, INT64_MAX, 0);
  return {g.builder().node("Col2Im", {g.dy(0), image, g.x(1)}, g.node().attributes)};
}

}  // namespace

extern const OpDef col2im{
    .name = "Col2Im", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b110};
extern const OpDef im2col{.name = "Im2Col",
                          .domain = ondine_domain,
                          .infer = infer_im2col,
                          .bind = bind_im2col,
                          .grad = grad_of_im2col,
                          .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
