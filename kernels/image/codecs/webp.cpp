#include "kernels/image/codecs/codec.h"

#ifdef ONDINE_WEBP
#include <webp/decode.h>
#endif

namespace ondine::kernels::image {

#ifdef ONDINE_WEBP

Tensor decode_webp(Bytes bytes, const Budget& budget) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK) {
    bad_image("WebP", "its header is broken or ends early");
  }
  if (features.has_animation != 0) bad_image("WebP", "it is an animation");
  Tensor image = new_image("WebP", features.height, features.width, budget);
  const Charge planes(budget, image.size() / 3, 8);
  auto to = image.mutable_values<std::uint8_t>();
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), to.data(), to.size(), features.width * 3) ==
      nullptr) {
    bad_image("WebP", "its data are broken or end early");
  }
  return image;
}

#else

Tensor decode_webp(Bytes, const Budget&) { no_library("WebP"); }

#endif

}  // namespace ondine::kernels::image
