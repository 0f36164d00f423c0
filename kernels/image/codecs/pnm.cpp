// Portable bitmaps, graymaps and pixmaps, as text (P1 to P3) or bytes (P4 to P6).
#include "core/stop.h"
#include "kernels/image/codecs/codec.h"

namespace ondine::kernels::image {
namespace {

constexpr std::string_view name = "PNM";

class Scanner {
 public:
  explicit Scanner(Bytes bytes) : bytes_(bytes) {}

  std::int64_t number() {
    skip_space();
    std::int64_t value = 0;
    const std::size_t first = at_;
    for (; at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9'; ++at_) {
      value = value * 10 + (bytes_[at_] - '0');
      if (value > 0x7fffffff) bad_image(name, "a number is too large");
    }
    if (at_ == first) bad_image(name, "a number is missing");
    return value;
  }
  // One digit of P1, which need not be separated.
  int bit() {
    skip_space();
    const int value = byte() - '0';
    if (value != 0 && value != 1) bad_image(name, "a pixel is neither 0 nor 1");
    return value;
  }
  int byte() {
    if (at_ >= bytes_.size()) bad_image(name, "it ends early");
    return bytes_[at_++];
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  void skip_space() {
    for (; at_ < bytes_.size(); ++at_) {
      const char c = static_cast<char>(bytes_[at_]);
      if (c == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
        return;
      }
    }
  }

  Bytes bytes_;
  std::size_t at_ = 2;
};

}  // namespace

Tensor decode_pnm(Bytes bytes, const Budget& budget, bool wide) {
  const int kind = bytes[1] - '0';
  const bool text = kind <= 3;
  const bool bits = kind == 1 || kind == 4;
  const int channels = kind % 3 == 0 ? 3 : 1;
  Scanner scanner(bytes);
  const std::int64_t width = scanner.number();
  const std::int64_t height = scanner.number();
  const std::int64_t max_value = bits ? 1 : scanner.number();
  if (max_value < 1 || max_value > 65535) bad_image(name, "its greatest value is not 1 to 65535");
  if (!text) scanner.byte();  // one white space
  // The data that must follow at least: a short file cannot ask for a large image.
  const std::int64_t row = kind == 4 ? (width + 7) / 8 : width * channels;
  if (row > 0 && height > static_cast<std::int64_t>(scanner.left()) / row) {
    bad_image(name, "it ends early");
  }
  const bool is_wide = wide && max_value > 255;
  Tensor image = new_image(name, height, width, budget, is_wide ? DType::uint16 : DType::uint8);
  const auto sample = [&]() -> std::int64_t {
    if (text) return scanner.number();
    const int high = scanner.byte();
    return max_value > 255 ? high * 256 + scanner.byte() : high;
  };
  with_samples(image, [&]<class T>(T* to) {
    for (std::int64_t y = 0; y < height; ++y) {
      check_stop();
      int row_bits = 0;
      for (std::int64_t x = 0; x < width; ++x, to += 3) {
        for (int c = 0; c < channels; ++c) {
          std::int64_t value = 0;
          if (kind == 1) {
            value = 1 - scanner.bit();
          } else if (kind == 4) {
            if (x % 8 == 0) row_bits = scanner.byte();
            value = 1 - (row_bits >> (7 - x % 8) & 1);
          } else {
            value = sample();
            if (value > max_value) bad_image(name, "a pixel is above the greatest value");
          }
          to[c] =
              scaled<T>(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(max_value));
        }
        if (channels == 1) to[1] = to[2] = to[0];
      }
    }
  });
  return image;
}

}  // namespace ondine::kernels::image
