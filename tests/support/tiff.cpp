#include "tests/support/tiff.h"

#include <map>

namespace ondine::test {
namespace {

class Writer {
 public:
  explicit Writer(bool big_endian) : big_endian_(big_endian) {}

  void number(std::uint32_t value, int width) {
    for (int i = 0; i < width; ++i) {
      const int byte = big_endian_ ? width - 1 - i : i;
      bytes.push_back(static_cast<std::uint8_t>(value >> 8 * byte));
    }
  }
  // Writes an entry of one number: a SHORT for orientation and small tags, else a LONG.
  void entry(std::uint16_t tag, std::uint32_t value) {
    const bool is_short = value <= 0xffff && tag != 256 && tag != 257 && tag != 273 && tag != 279;
    number(tag, 2);
    number(is_short ? 3 : 4, 2);
    number(1, 4);
    number(value, is_short ? 2 : 4);
    if (is_short) number(0, 2);
  }
  void header(std::size_t directory, std::size_t entries) {
    const char order = big_endian_ ? 'M' : 'I';
    bytes.insert(bytes.end(), {static_cast<std::uint8_t>(order), static_cast<std::uint8_t>(order)});
    number(42, 2);
    number(static_cast<std::uint32_t>(directory), 4);
    number(static_cast<std::uint32_t>(entries), 2);
  }

  std::vector<std::uint8_t> bytes;

 private:
  bool big_endian_;
};

}  // namespace

std::vector<std::uint8_t> bytes_of(const Tiff& tiff) {
  std::map<std::uint16_t, std::uint32_t> entries{
      {256, tiff.width},
      {257, tiff.height},
      {258, tiff.bits},
      {259, 1},
      {262, tiff.samples >= 3 ? 2U : 1U},
      {273, 0},
      {277, tiff.samples},
      {278, tiff.height},
      {279, static_cast<std::uint32_t>(tiff.pixels.size())},
  };
  for (const auto& [tag, value] : tiff.tags) entries[tag] = value;
  const std::size_t data = 8 + 2 + 12 * entries.size() + 4;
  entries[273] = static_cast<std::uint32_t>(data);
  Writer writer(false);
  writer.header(8, entries.size());
  // Depths of three samples do not fit an entry: libtiff takes one number for all.
  for (const auto& [tag, value] : entries) writer.entry(tag, value);
  writer.number(0, 4);
  writer.bytes.insert(writer.bytes.end(), tiff.pixels.begin(), tiff.pixels.end());
  return writer.bytes;
}

std::vector<std::uint8_t> exif(std::uint32_t orientation, bool big_endian) {
  Writer writer(big_endian);
  writer.header(8, 1);
  writer.entry(0x112, orientation);
  writer.number(0, 4);
  return writer.bytes;
}

}  // namespace ondine::test
