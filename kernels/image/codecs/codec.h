// Helpers that the decoders of kernels/image share.
#pragma once

#include <limits>
#include <string_view>

#include "core/message.h"
#include "kernels/image/codecs/image.h"

namespace ondine::kernels::image {

using Bytes = std::span<const std::uint8_t>;
using Budget = std::shared_ptr<MemoryBudget>;

// As decode_image, for bytes that begin like the format; not turned, but for TIFF. JPEG and WebP
// have 8 bits.
Tensor decode_jpeg(Bytes bytes, const Budget& budget);
Tensor decode_png(Bytes bytes, const Budget& budget, bool wide);
Tensor decode_webp(Bytes bytes, const Budget& budget);
Tensor decode_tiff(Bytes bytes, const Budget& budget, bool wide);
Tensor decode_jpeg2000(Bytes bytes, const Budget& budget, bool wide);
Tensor decode_bmp(Bytes bytes, const Budget& budget, bool wide);
Tensor decode_pnm(Bytes bytes, const Budget& budget, bool wide);

[[noreturn]] inline void bad_image(std::string_view format, std::string_view reason) {
  fail(ErrorCode::corrupt, "cannot decode the ", format, " image: ", reason);
}
[[noreturn]] inline void no_library(std::string_view format) {
  fail(ErrorCode::unsupported, "this build has no decoder for ", format, " images");
}

// A black image, charged to the budget.
Tensor new_image(std::string_view format, std::int64_t height, std::int64_t width,
                 const Budget& budget, DType dtype = DType::uint8);
// Refuses a file too short for `pixel_bytes` that were packed to no less than 1 byte in `ratio`.
inline void require_data(std::string_view format, Bytes bytes, std::uint64_t pixel_bytes,
                         std::uint64_t ratio) {
  if (pixel_bytes / ratio > bytes.size()) bad_image(format, "it ends early");
}
inline constexpr std::uint64_t deflate_ratio = 1032;

// `value` of 0 to max_value, as 0 to the largest T, rounded.
template <class T>
T scaled(std::uint64_t value, std::uint64_t max_value) {
  constexpr std::uint64_t largest = std::numeric_limits<T>::max();
  return static_cast<T>((value * largest + max_value / 2) / max_value);
}
// Calls body with a pixel of the image's element type, to choose a template by.
template <class Body>
void with_samples(Tensor& image, const Body& body) {
  if (image.dtype() == DType::uint16) return body(image.mutable_values<std::uint16_t>().data());
  body(image.mutable_values<std::uint8_t>().data());
}

// Memory that a library takes for itself, for as long as this lives.
class Charge {
 public:
  Charge(const Budget& budget, std::int64_t pixels, std::int64_t bytes_each);
  ~Charge();
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  Budget budget_;
  std::uint64_t bytes_;
};

}  // namespace ondine::kernels::image
