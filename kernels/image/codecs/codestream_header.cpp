#include "kernels/image/codecs/codestream_header.h"

#include <algorithm>
#include <cmath>

namespace ondine::kernels::image {
namespace {

constexpr std::string_view name = "JPEG 2000";

// Bytes that OpenJPEG takes, rounded up.
constexpr std::int64_t bytes_of_tile = 16384;  // with its marker index
constexpr std::int64_t bytes_of_tile_component = 4096;
constexpr double bytes_of_precinct = 1024;
constexpr double bytes_of_code_block = 512;
constexpr std::uint64_t least_tile_part = 14;  // SOT and SOD

class Walker {
 public:
  explicit Walker(Bytes file) : stream_(codestream_of(file)) {}

  CodestreamHeader run() {
    if (number(0, 4) != 0xff4fff51) bad_image(name, "it has no SIZ marker");
    const std::uint64_t area = read_size();
    walk();
    const double worst =
        std::min(blocks_ * static_cast<double>(area) * static_cast<double>(components_), 1e15);
    header_.block_bytes = static_cast<std::int64_t>(worst);
    return header_;
  }

 private:
  std::uint64_t number(std::size_t at, std::size_t count) const { return read(stream_, at, count); }
  static std::uint64_t read(Bytes bytes, std::size_t at, std::size_t count) {
    if (at > bytes.size() || count > bytes.size() - at) bad_image(name, "it ends early");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
    return value;
  }

  // The content of the box jp2c, or all of a file without boxes.
  static Bytes codestream_of(Bytes file) {
    if (file[0] != 0) return file;
    for (std::size_t at = 0;;) {
      std::uint64_t length = read(file, at, 4);
      std::size_t header = 8;
      const bool is_codestream = read(file, at + 4, 4) == 0x6a703263;
      if (length == 1) {
        length = read(file, at + 8, 8);
        header = 16;
      }
      if (is_codestream) return file.subspan(std::min(at + header, file.size()));
      if (length < header || length > file.size() - at) bad_image(name, "it has no codestream");
      at += static_cast<std::size_t>(length);
    }
  }

  // Returns the pixels.
  std::uint64_t read_size() {
    const auto cells = [&](std::size_t axis) {
      const std::uint64_t end = number(8 + 4 * axis, 4);
      const std::uint64_t size = number(24 + 4 * axis, 4);
      const std::uint64_t first = number(32 + 4 * axis, 4);
      if (size == 0 || end <= first) bad_image(name, "its tiles have no size");
      return (end - first + size - 1) / size;
    };
    components_ = number(40, 2);
    const std::uint64_t rows = cells(1);
    const std::uint64_t columns = cells(0);
    if (columns > stream_.size() / least_tile_part / rows) {
      bad_image(name, cat("it ends early: ", stream_.size(), " bytes for ", columns, " x ", rows,
                          " tiles"));
    }
    header_.tiles = static_cast<std::int64_t>(columns * rows);
    header_.tile_bytes =
        bytes_of_tile + bytes_of_tile_component * static_cast<std::int64_t>(components_);
    return number(8, 4) * number(12, 4);
  }

  // Headers of the codestream and of all tile-parts.
  void walk() {
    std::uint64_t next = stream_.size();  // tile-part
    for (std::uint64_t at = 2; at + 4 <= stream_.size();) {
      const auto here = static_cast<std::size_t>(at);
      const std::uint64_t marker = number(here, 2);
      if (marker == 0xffd9) return;
      if (marker == 0xff93) {
        if (next <= at) return;
        at = next;
        continue;
      }
      const std::uint64_t length = number(here + 2, 2);
      if (length < 2 || marker < 0xff00) return;  // the library says what is wrong
      if (marker == 0xff90 && here + 10 <= stream_.size()) {
        const std::uint64_t part = number(here + 6, 4);
        next = part < least_tile_part ? stream_.size() : at + part;
      }
      if (marker == 0xff52) count_blocks(here + 4, here + 9);
      if (marker == 0xff53) {
        const std::size_t style = here + (components_ < 257 ? 5 : 6);
        count_blocks(style, style + 1);
      }
      at += 2 + length;
    }
  }

  // Bytes for each pixel of a component, by its coding style: decomposition levels, the size of
  // code blocks and, where they are said, those of precincts.
  void count_blocks(std::size_t style, std::size_t at) {
    const auto levels = static_cast<int>(number(at, 1));
    const auto exponents = static_cast<int>(number(at + 1, 1) + number(at + 2, 1)) + 4;
    double bytes = bytes_of_code_block * std::ldexp(1.0, -exponents);
    for (int r = 0; (number(style, 1) & 1) != 0 && r <= std::min(levels, 32); ++r) {
      const std::uint64_t size = number(at + 5 + static_cast<std::size_t>(r), 1);
      const auto both = static_cast<int>((size & 15) + (size >> 4));
      bytes += bytes_of_precinct * std::ldexp(1.0, -both - 2 * (levels - r));
    }
    blocks_ = std::max(blocks_, bytes);
  }

  Bytes stream_;
  CodestreamHeader header_;
  std::uint64_t components_ = 0;
  double blocks_ = 0;
};

}  // namespace

CodestreamHeader read_codestream_header(Bytes file) { return Walker(file).run(); }

}  // namespace ondine::kernels::image
