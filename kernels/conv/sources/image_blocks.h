// The blocks of an image that are the columns of a matrix. Shared by Col2Im and Im2Col.
#pragma once

#include "core/checked.h"
#include "core/stop.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/window/sliding_window.h"

namespace ondine::kernels::ops {

// Blocks of an image: the window's axes over the image's dims.
struct ImageBlocks {
  std::vector<std::int64_t> image;
  std::vector<std::int64_t> out;  // blocks along each axis
  Window window;
  std::int64_t block = 1;
  std::int64_t count = 1;
  std::int64_t pixels = 1;

  ImageBlocks(const graph::NodeView& node, std::vector<std::int64_t> image_dims,
              const std::vector<std::int64_t>& block_shape)
      : image(std::move(image_dims)) {
    if (image.size() != block_shape.size() || image.empty()) {
      fail(ErrorCode::mismatch, "image_shape has ", image.size(), " dims, block_shape ",
           block_shape.size());
    }
    window = read_window(node, block_shape);
    for (std::size_t i = 0; i < image.size(); ++i) {
      if (image[i] < 1) fail(ErrorCode::mismatch, "image dim ", image[i]);
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

inline std::vector<std::int64_t> block_shape(const graph::BindContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  if (tensor == nullptr) {
    fail(ErrorCode::unsupported, "block_shape must be known when the node is bound");
  }
  const auto values = tensor->values<std::int64_t>();
  return {values.begin(), values.end()};
}

// Elements of `planes` images moved to columns, or with to_image columns added up to images.
template <class C, bool to_image>
graph::Kernel bind_image_blocks(graph::BindContext& context, const ImageBlocks& blocks,
                                std::int64_t planes) {
  Scratch scratch;
  const ComputeIn<C> x(context, scratch, 0);
  const ComputeOut<C> y(context, scratch, 0,
                        planes * (to_image ? blocks.pixels : blocks.block * blocks.count));
  scratch.request(context);
  return [=](graph::KernelContext& call) {
    const C* from = x(call);
    C* to = y.data(call);
    call.pool().for_chunks(planes, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto plane = first; plane < last; ++plane) {
        if (to_image) std::fill_n(to + plane * blocks.pixels, blocks.pixels, C{0});
        for (std::int64_t k = 0; k < blocks.block; ++k) {
          checkpoint(8 * blocks.count);
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

}  // namespace ondine::kernels::ops
