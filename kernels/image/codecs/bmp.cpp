// Windows bitmaps: 1, 4, 8 (also run-length encoded), 16, 24 and 32 bits a pixel.
#include <algorithm>
#include <array>
#include <bit>

#include "core/stop.h"
#include "kernels/image/codecs/codec.h"

namespace ondine::kernels::image {
namespace {

constexpr std::string_view name = "BMP";

class Reader {
 public:
  Reader(Bytes bytes, const Budget& budget, bool wide) : bytes_(bytes) {
    read_header();
    const auto is_wide = [](std::uint32_t mask) { return std::popcount(mask) > 8; };
    wide = wide && std::any_of(masks_.begin(), masks_.end(), is_wide);
    image_ = new_image(name, height_, width_, budget, wide ? DType::uint16 : DType::uint8);
  }

  Tensor run() {
    with_samples(image_, [&]<class T>(T* pixels) {
      if (compression_ == 1 || compression_ == 2) {
        read_runs(pixels);
      } else {
        read_rows(pixels);
      }
    });
    return image_;
  }

 private:
  // Positions are those of files, which have more bits than the addresses of some machines.
  std::uint32_t number(std::uint64_t at, std::size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) bad_image(name, "it ends early");
    const Bytes there = bytes_.subspan(static_cast<std::size_t>(at), count);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value |= std::uint32_t{there[i]} << 8 * i;
    return value;
  }

  void read_header() {
    data_ = number(10, 4);
    const std::uint64_t header = number(14, 4);
    const bool core = header == 12;
    if (!core && header < 40) bad_image(name, "its header has an unknown size");
    width_ = core ? std::int64_t{number(18, 2)} : static_cast<std::int32_t>(number(18, 4));
    height_ = core ? std::int64_t{number(20, 2)} : static_cast<std::int32_t>(number(22, 4));
    depth_ = core ? number(24, 2) : number(28, 2);
    compression_ = core ? 0 : number(30, 4);
    top_down_ = height_ < 0;
    if (top_down_) height_ = -height_;
    const bool runs = (compression_ == 1 && depth_ == 8) || (compression_ == 2 && depth_ == 4);
    const bool masks = (compression_ == 3 || compression_ == 6) && (depth_ == 16 || depth_ == 32);
    const bool plain = compression_ == 0 && (depth_ == 1 || depth_ == 4 || depth_ == 8 ||
                                             depth_ == 16 || depth_ == 24 || depth_ == 32);
    if (!runs && !masks && !plain) bad_image(name, "its pixel format is unknown");
    if (masks) {
      for (std::size_t c = 0; c < 3; ++c) masks_[c] = number(54 + 4 * c, 4);
    } else if (depth_ == 16) {
      masks_ = {0x7c00, 0x3e0, 0x1f};
    }
    if (depth_ <= 8) {
      const std::uint32_t used = core ? 0 : number(46, 4);
      colours_ = used == 0 || used > 1U << depth_ ? 1U << depth_ : used;
      palette_ = 14 + header;
      entry_ = core ? 3 : 4;
    }
    // A short file cannot ask for a large image, except with run-length encoding, which may skip
    // pixels.
    if (width_ <= 0 || height_ <= 0) return;
    if (runs) {
      // A pair of bytes is a run of up to 255 pixels; half of an image may be skipped.
      constexpr std::uint64_t small = std::uint64_t{1} << 20;
      const std::uint64_t area =
          static_cast<std::uint64_t>(width_) * static_cast<std::uint64_t>(height_);
      if (area > small && area / 255 > bytes_.size()) {
        bad_image(name, cat(bytes_.size(), " bytes of runs cannot hold ", width_, " x ", height_,
                            " pixels"));
      }
    } else {
      const std::uint64_t last = (static_cast<std::uint64_t>(width_) * depth_ + 7) / 8;
      const auto before = static_cast<std::uint64_t>(height_ - 1);  // rows of whole words
      if (last > bytes_.size() || before > (bytes_.size() - last) / stride()) {
        bad_image(name, "it ends early");
      }
    }
  }

  std::uint64_t stride() const {
    return (static_cast<std::uint64_t>(width_) * depth_ + 31) / 32 * 4;
  }
  // Index of the first sample of a pixel.
  std::int64_t at(std::int64_t x, std::int64_t row) const {
    const std::int64_t y = top_down_ ? row : height_ - 1 - row;
    return (y * width_ + x) * 3;
  }

  template <class T>
  void put(T* to, std::uint32_t index) {
    if (index >= colours_) bad_image(name, "a pixel is not in the palette");
    const std::uint64_t from = palette_ + std::uint64_t{index} * entry_;
    for (std::size_t c = 0; c < 3; ++c) {
      to[c] = scaled<T>(number(from + 2 - c, 1), 255);
    }
  }

  template <class T>
  static T masked(std::uint32_t pixel, std::uint32_t mask) {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    return scaled<T>((pixel & mask) >> shift, mask >> shift);
  }

  template <class T>
  void read_rows(T* pixels) {
    for (std::int64_t row = 0; row < height_; ++row) {
      check_stop();
      const std::uint64_t first = data_ + static_cast<std::uint64_t>(row) * stride();
      for (std::int64_t x = 0; x < width_; ++x) {
        const auto bit = static_cast<std::uint64_t>(x) * depth_;
        const std::uint64_t from = first + bit / 8;
        if (depth_ <= 8) {
          const auto shift = static_cast<unsigned>(8 - depth_ - bit % 8);
          put(pixels + at(x, row), number(from, 1) >> shift & ((1U << depth_) - 1));
          continue;
        }
        const std::uint32_t pixel = number(from, depth_ / 8);
        for (std::size_t c = 0; c < 3; ++c) {
          pixels[at(x, row) + static_cast<std::ptrdiff_t>(c)] =
              masks_[0] + masks_[1] + masks_[2] != 0 ? masked<T>(pixel, masks_[c])
                                                     : scaled<T>(pixel >> 8 * (2 - c) & 0xff, 255);
        }
      }
    }
  }

  // Pairs (count, value), or (0, code): end of line, end of image, a jump, or that many pixels.
  template <class T>
  void read_runs(T* pixels) {
    std::uint64_t from = data_;
    std::int64_t x = 0;
    std::int64_t row = 0;
    const auto pixel = [&](std::uint32_t byte, std::uint32_t i) {
      if (x >= width_ || row >= height_) bad_image(name, "a run leaves the image");
      put(pixels + at(x++, row), depth_ == 8 ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
    };
    while (row < height_) {
      check_stop();
      const std::uint32_t count = number(from, 1);
      const std::uint32_t code = number(from + 1, 1);
      from += 2;
      if (count > 0) {
        for (std::uint32_t i = 0; i < count; ++i) pixel(code, i);
      } else if (code == 0) {
        x = 0;
        ++row;
      } else if (code == 1) {
        return;
      } else if (code == 2) {
        x += number(from, 1);
        row += number(from + 1, 1);
        from += 2;
      } else {
        const std::uint32_t each = depth_ == 8 ? 1 : 2;  // pixels of a byte
        for (std::uint32_t i = 0; i < code; ++i) pixel(number(from + i / each, 1), i);
        from += ((code + each - 1) / each + 1) / 2 * 2;
      }
    }
  }

  Bytes bytes_;
  std::uint64_t data_ = 0;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::uint32_t depth_ = 0;
  std::uint32_t compression_ = 0;
  bool top_down_ = false;
  std::array<std::uint32_t, 3> masks_{};
  std::uint32_t colours_ = 0;
  std::uint64_t palette_ = 0;
  std::uint64_t entry_ = 4;
  Tensor image_;
};

}  // namespace

Tensor decode_bmp(Bytes bytes, const Budget& budget, bool wide) {
  return Reader(bytes, budget, wide).run();
}

}  // namespace ondine::kernels::image
