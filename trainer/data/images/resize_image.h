// Images to the size that a model takes.
#pragma once

#include <cstdint>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/tensor.h>

namespace ondine::data {

struct Resampling {
  ImageSize size;
  ImageFit fit = ImageFit::crop;
  bool antialias = true;  // the filter widens where the image shrinks
};

// `image` is uint8 [H, W, 3]. The result is [height, width, 3] in 0..255, not rounded.
std::vector<float> resize_image(const Tensor& image, const Resampling& to);

}  // namespace ondine::data
