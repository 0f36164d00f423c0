#include "kernels/image/codecs/image.h"

#include <utility>

#include "core/checked.h"
#include "kernels/image/codecs/codec.h"
#include "kernels/image/codecs/orientation.h"

namespace ondine::kernels {
namespace image {

Tensor new_image(std::string_view format, std::int64_t height, std::int64_t width,
                 const Budget& budget, DType dtype) {
  if (height < 1 || width < 1) {
    fail(ErrorCode::corrupt, "cannot decode the ", format, " image: its size is ", width, " x ",
         height);
  }
  return Tensor(dtype, {height, width, 3}, budget);
}

Charge::Charge(const Budget& budget, std::int64_t pixels, std::int64_t bytes_each)
    : budget_(budget), bytes_(static_cast<std::uint64_t>(checked_mul(pixels, bytes_each))) {
  if (budget_) budget_->charge(bytes_);
}

Charge::~Charge() {
  if (budget_) budget_->release(bytes_);
}

}  // namespace image

namespace {

Tensor decode_stored(image::Bytes bytes, const image::Budget& budget, bool wide) {
  using namespace std::literals;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto is = [&](std::string_view magic, std::size_t at = 0) {
    return text.size() >= at && text.substr(at, magic.size()) == magic;
  };
  if (is("\xff\xd8\xff"sv)) return image::decode_jpeg(bytes, budget);
  if (is("\x89PNG\r\n\x1a\n"sv)) return image::decode_png(bytes, budget, wide);
  if (is("RIFF"sv) && is("WEBP"sv, 8)) return image::decode_webp(bytes, budget);
  if (is("II*\0"sv) || is("MM\0*"sv) || is("II+\0"sv) || is("MM\0+"sv)) {
    return image::decode_tiff(bytes, budget, wide);
  }
  if (is("\0\0\0\x0cjP  "sv) || is("\xff\x4f\xff\x51"sv)) {
    return image::decode_jpeg2000(bytes, budget, wide);
  }
  if (is("BM"sv)) return image::decode_bmp(bytes, budget, wide);
  if (text.size() > 2 && text[0] == 'P' && text[1] >= '1' && text[1] <= '6') {
    return image::decode_pnm(bytes, budget, wide);
  }
  fail(ErrorCode::corrupt, "the ", bytes.size(),
       " bytes are not a JPEG, PNG, WebP, TIFF, JPEG 2000, BMP or PNM image");
}

}  // namespace

Tensor decode_image(std::span<const std::uint8_t> bytes,
                    const std::shared_ptr<MemoryBudget>& budget, const DecodeOptions& options) {
  Tensor image = decode_stored(bytes, budget, options.wide);
  if (!options.upright) return image;
  return image::turned(std::move(image), image::exif_orientation(bytes), budget);
}

}  // namespace ondine::kernels
