#include "kernels/image/codecs/orientation.h"

#include <algorithm>
#include <cstring>

#include "core/stop.h"

namespace ondine::kernels::image {
namespace {

constexpr int as_stored = 1;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Numbers at positions that may lie outside; these are 0.
class Numbers {
 public:
  Numbers(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::uint32_t at(std::size_t position, std::size_t width) const {
    if (position > bytes_.size() || width > bytes_.size() - position) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t from = big_endian_ ? i : width - 1 - i;
      value = value << 8 | bytes_[position + from];
    }
    return value;
  }

 private:
  Bytes bytes_;
  bool big_endian_;
};

// Metadata as containers hold it.
struct Metadata {
  Bytes exif;  // a TIFF header and its first directory
  std::string_view xmp;
};

// Segments of JPEG up to the data of the first scan.
Metadata metadata_of_jpeg(Bytes file) {
  Metadata found;
  const Numbers numbers(file, true);
  for (std::size_t at = 2; at + 4 <= file.size() && file[at] == 0xff;) {
    const std::uint32_t marker = file[at + 1];
    if (marker == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    if (marker == 0xda || marker == 0xd9) break;
    const std::size_t length = numbers.at(at + 2, 2);
    if (length < 2 || length > file.size() - at - 2) break;
    const Bytes content = file.subspan(at + 4, length - 2);
    constexpr std::string_view exif("Exif\0\0", 6);
    constexpr std::string_view xmp("http://ns.adobe.com/xap/1.0/\0", 29);
    if (marker == 0xe1 && found.exif.empty() && text_of(content).starts_with(exif)) {
      found.exif = content.subspan(exif.size());
    }
    if (marker == 0xe1 && found.xmp.empty() && text_of(content).starts_with(xmp)) {
      found.xmp = text_of(content).substr(xmp.size());
    }
    at += 2 + length;
  }
  return found;
}

Metadata metadata_of_png(Bytes file) {
  Metadata found;
  const Numbers numbers(file, true);
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t length = numbers.at(at, 4);
    if (length > file.size() - at - 12) break;
    const std::string_view type = text_of(file.subspan(at + 4, 4));
    const Bytes content = file.subspan(at + 8, length);
    constexpr std::string_view xmp("XML:com.adobe.xmp\0\0", 19);  // not compressed
    if (type == "eXIf" && found.exif.empty()) found.exif = content;
    if (type == "iTXt" && text_of(content).starts_with(xmp)) found.xmp = text_of(content);
    if (type == "IEND") break;
    at += 12 + length;
  }
  return found;
}

Metadata metadata_of_webp(Bytes file) {
  Metadata found;
  const Numbers numbers(file, false);
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::string_view type = text_of(file.subspan(at, 4));
    const std::size_t length = numbers.at(at + 4, 4);
    if (length > file.size() - at - 8) break;
    const Bytes content = file.subspan(at + 8, length);
    if (type == "EXIF" && found.exif.empty()) found.exif = content;
    if (type == "XMP ") found.xmp = text_of(content);
    at += 8 + length + length % 2;
  }
  // Some programs write the prefix that JPEG has.
  if (text_of(found.exif).starts_with(std::string_view("Exif\0\0", 6))) {
    found.exif = found.exif.subspan(6);
  }
  return found;
}

int valid(std::uint32_t orientation) {
  return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : as_stored;
}

// Nothing where the first directory has no such tag.
std::optional<int> orientation_in(Bytes exif) {
  const std::string_view text = text_of(exif);
  const bool big_endian = text.starts_with("MM");
  if (!big_endian && !text.starts_with("II")) return {};
  const Numbers numbers(exif, big_endian);
  const std::size_t directory = numbers.at(4, 4);
  const std::uint32_t count = numbers.at(directory, 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{12} * i;
    if (entry + 12 > exif.size()) break;
    if (numbers.at(entry, 2) != 0x112) continue;
    const std::uint32_t type = numbers.at(entry + 2, 2);
    return valid(numbers.at(entry + 8, type == 1 ? 1 : type == 4 ? 4 : 2));
  }
  return {};
}

int orientation_in(std::string_view xmp) {
  constexpr std::string_view name = "tiff:Orientation";
  for (std::size_t at = xmp.find(name); at != xmp.npos; at = xmp.find(name, at + 1)) {
    const std::string_view rest = xmp.substr(at + name.size());
    for (const std::string_view before : {std::string_view("=\""), std::string_view(">")}) {
      if (!rest.starts_with(before) || rest.size() == before.size()) continue;
      return valid(static_cast<std::uint32_t>(rest[before.size()] - '0'));
    }
  }
  return as_stored;
}

}  // namespace

int exif_orientation(Bytes file) {
  const std::string_view text = text_of(file);
  Metadata found;
  if (text.starts_with("\xff\xd8")) found = metadata_of_jpeg(file);
  if (text.starts_with("\x89PNG")) found = metadata_of_png(file);
  if (text.starts_with("RIFF")) found = metadata_of_webp(file);
  if (const std::optional<int> orientation = orientation_in(found.exif)) return *orientation;
  return orientation_in(found.xmp);
}

Tensor turned(Tensor image, int orientation, const Budget& budget) {
  if (orientation <= as_stored || orientation > 8) return image;
  const std::int64_t height = image.shape()[0];
  const std::int64_t width = image.shape()[1];
  const bool exchange = orientation >= 5;
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation >= 7;
  const auto pixel = static_cast<std::int64_t>(3 * size_of(image.dtype()));
  // Steps in the stored image for a row and a column of the upright one.
  std::int64_t down = (from_below ? -1 : 1) * width * pixel;
  std::int64_t right = (from_right ? -1 : 1) * pixel;
  const auto* const first = static_cast<const std::byte*>(image.data()) +
                            (from_below ? (height - 1) * width * pixel : 0) +
                            (from_right ? (width - 1) * pixel : 0);
  if (exchange) std::swap(down, right);
  const Shape shape{exchange ? width : height, exchange ? height : width, 3};
  Tensor result(image.dtype(), shape, budget);
  auto* to = static_cast<std::byte*>(result.mutable_data());
  for (std::int64_t y = 0; y < shape[0]; ++y) {
    check_stop();
    const std::byte* from = first + y * down;
    for (std::int64_t x = 0; x < shape[1]; ++x, from += right, to += pixel) {
      std::memcpy(to, from, static_cast<std::size_t>(pixel));
    }
  }
  return result;
}

}  // namespace ondine::kernels::image
