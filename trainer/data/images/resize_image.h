// Images to the size that a model takes.
#pragma once

#include <cstdint>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/tensor.h>

namespace ondine::data {

// `image` is uint8 [H, W, 3]. The result is [height, width, 3] in 0..255, not rounded.
std::vector<float> resize_image(const Tensor& image, ImageSize size, ImageFit fit);

}  // namespace ondine::data
