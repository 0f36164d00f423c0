// What the decoders of kernels/image share.
#pragma once

#include <string_view>

#include "core/message.h"
#include "kernels/image/codecs/image.h"

namespace ondine::kernels::image {

using Bytes = std::span<const std::uint8_t>;
using Budget = std::shared_ptr<MemoryBudget>;

// As decode_image, for bytes that begin like the format.
Tensor decode_jpeg(Bytes bytes, const Budget& budget);
Tensor decode_png(Bytes bytes, const Budget& budget);
Tensor decode_webp(Bytes bytes, const Budget& budget);
Tensor decode_tiff(Bytes bytes, const Budget& budget);
Tensor decode_jpeg2000(Bytes bytes, const Budget& budget);
Tensor decode_bmp(Bytes bytes, const Budget& budget);
Tensor decode_pnm(Bytes bytes, const Budget& budget);

[[noreturn]] inline void bad_image(std::string_view format, std::string_view reason) {
  fail(ErrorCode::corrupt, "cannot decode the ", format, " image: ", reason);
}
[[noreturn]] inline void no_library(std::string_view format) {
  fail(ErrorCode::unsupported, "this build has no decoder for ", format, " images");
}

// A black image, charged to the budget.
Tensor new_image(std::string_view format, std::int64_t height, std::int64_t width,
                 const Budget& budget);
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
