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

// `image` is uint8 or uint16 [H, W, 3]. The result is [height, width, 3] in 0..255 or 0..65535, not
// rounded.
std::vector<float> resize_image(const Tensor& image, const Resampling& to);
// Memory that it takes beside its result.
std::int64_t resize_bytes(const Tensor& image);

}  // namespace ondine::data
