// Orientation and depth of images as a data set reads them.
#include <catch2/catch.hpp>

#include "core/stop.h"
#include "kernels/image/codecs/image.h"
#include "tests/kernels/image/image_samples.h"
#include "tests/support/tiff.h"

using namespace ondine;
using namespace ondine::test;
using kernels::decode_image;

namespace {

using Encoded = std::vector<std::uint8_t>;

Encoded from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Encoded out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return out;
}

Encoded text(std::string_view t) { return {t.begin(), t.end()}; }
Encoded operator+(Encoded a, const Encoded& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Encoded number(std::size_t value, int width, bool big_endian) {
  Encoded out;
  for (int i = 0; i < width; ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> 8 * (big_endian ? width - 1 - i : i)));
  }
  return out;
}
Encoded part(const Encoded& all, std::size_t first, std::size_t last) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(last)};
}

Encoded jpeg_with(const Encoded& segment) {
  const Encoded whole = from_hex(samples::jpeg);
  return part(whole, 0, 2) + Encoded{0xff, 0xe1} + number(segment.size() + 2, 2, true) + segment +
         part(whole, 2, whole.size());
}

std::uint32_t crc32(const Encoded& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}
Encoded png_with(const std::string& type, const Encoded& content) {
  const Encoded whole = from_hex(samples::png_rgb);
  constexpr std::size_t after_header = 8 + 25;
  const Encoded chunk = text(type) + content;
  return part(whole, 0, after_header) + number(content.size(), 4, true) + chunk +
         number(crc32(chunk), 4, true) + part(whole, after_header, whole.size());
}

Encoded webp_with(const std::string& type, const Encoded& content, std::uint8_t flags) {
  const auto chunk = [](const std::string& name, Encoded body) {
    const std::size_t size = body.size();
    if (size % 2 != 0) body.push_back(0);
    return text(name) + number(size, 4, false) + body;
  };
  const Encoded whole = from_hex(samples::webp_lossless);
  const Encoded header =
      Encoded{flags, 0, 0, 0} + number(5 - 1, 3, false) + number(4 - 1, 3, false);
  const Encoded body =
      text("WEBP") + chunk("VP8X", header) + part(whole, 12, whole.size()) + chunk(type, content);
  return text("RIFF") + number(body.size(), 4, false) + body;
}

Encoded xmp(int orientation) {
  return text("<x:xmpmeta><rdf:Description tiff:Orientation=\"" + std::to_string(orientation) +
              "\"/></x:xmpmeta>");
}

Tensor decode(const Encoded& bytes) {
  return decode_image(bytes, nullptr, {.wide = true, .upright = true});
}

// The upright image by the definition of each number: where its top left pixel and the next ones to
// the right and below are stored.
template <class T>
Tensor by_definition(const Tensor& stored, int orientation) {
  const std::int64_t h = stored.shape()[0];
  const std::int64_t w = stored.shape()[1];
  const bool exchange = orientation >= 5;
  Tensor result(stored.dtype(), {exchange ? w : h, exchange ? h : w, 3});
  const auto from = stored.values<T>();
  const auto to = result.mutable_values<T>();
  for (std::int64_t y = 0; y < result.shape()[0]; ++y) {
    for (std::int64_t x = 0; x < result.shape()[1]; ++x) {
      std::int64_t row = y;
      std::int64_t column = x;
      switch (orientation) {
        case 2:
          column = w - 1 - x;
          break;
        case 3:
          row = h - 1 - y, column = w - 1 - x;
          break;
        case 4:
          row = h - 1 - y;
          break;
        case 5:
          row = x, column = y;
          break;
        case 6:
          row = h - 1 - x, column = y;
          break;
        case 7:
          row = h - 1 - x, column = w - 1 - y;
          break;
        case 8:
          row = x, column = w - 1 - y;
          break;
        default:
          break;
      }
      for (std::int64_t c = 0; c < 3; ++c) {
        to[static_cast<std::size_t>((y * result.shape()[1] + x) * 3 + c)] =
            from[static_cast<std::size_t>((row * w + column) * 3 + c)];
      }
    }
  }
  return result;
}

Encoded counting(std::size_t n) {
  Encoded bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(11 * i + i / 23);
  return bytes;
}

std::vector<std::uint16_t> words(const Tensor& image) {
  REQUIRE(image.dtype() == DType::uint16);
  const auto values = image.values<std::uint16_t>();
  std::vector<std::uint16_t> first;
  for (std::size_t i = 0; i < values.size(); i += 3) first.push_back(values[i]);
  return first;
}

}  // namespace

TEST_CASE("images are turned upright as EXIF says, in every format that has it") {
  const Encoded prefix = text("Exif") + Encoded{0, 0};
  const Tensor jpeg = decode(from_hex(samples::jpeg));
  const Tensor png = decode(from_hex(samples::png_rgb));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const auto number = static_cast<std::uint32_t>(orientation);
    const Tensor turned = by_definition<std::uint8_t>(png, orientation);
    for (const bool big_endian : {false, true}) {
      const Encoded metadata = exif(number, big_endian);
      CHECK(decode(jpeg_with(prefix + metadata))
                .identical(by_definition<std::uint8_t>(jpeg, orientation)));
      CHECK(decode(png_with("eXIf", metadata)).identical(turned));
      CHECK(decode(webp_with("EXIF", metadata, 8)).identical(turned));
      CHECK(decode(webp_with("EXIF", prefix + metadata, 8)).identical(turned));
      // The operator of the standard takes pixels as they are stored.
      CHECK(decode_image(png_with("eXIf", metadata), nullptr).identical(png));
    }
    CHECK(decode(webp_with("XMP ", xmp(orientation), 4)).identical(turned));
    CHECK(decode(jpeg_with(text("http://ns.adobe.com/xap/1.0/") + Encoded{0} + xmp(orientation)))
              .identical(by_definition<std::uint8_t>(jpeg, orientation)));
  }
}

TEST_CASE("a TIFF image is upright for each orientation, in 8 and 16 bits") {
  for (const std::uint32_t bits : {8U, 16U}) {
    Tiff tiff{.width = 3, .height = 2, .bits = bits, .pixels = counting(18 * bits / 8)};
    const Tensor stored = decode(bytes_of(tiff));
    for (int orientation = 1; orientation <= 8; ++orientation) {
      CAPTURE(bits, orientation);
      tiff.tags = {{274, static_cast<std::uint32_t>(orientation)}};
      const Tensor turned = bits == 8 ? by_definition<std::uint8_t>(stored, orientation)
                                      : by_definition<std::uint16_t>(stored, orientation);
      CHECK(decode(bytes_of(tiff)).identical(turned));
      // Without options as well, as in the standard's reference.
      CHECK(decode_image(bytes_of(tiff), nullptr).shape() == turned.shape());
    }
  }
}

TEST_CASE("metadata that says no orientation leaves an image as it is stored") {
  const Tensor png = decode(from_hex(samples::png_rgb));
  for (const std::uint32_t value : {0U, 9U, 65535U}) {
    CHECK(decode(png_with("eXIf", exif(value))).identical(png));
  }
  const Encoded whole = exif(6);
  for (std::size_t n = 0; n < whole.size() - 4; ++n) {
    CAPTURE(n);
    CHECK(decode(png_with("eXIf", part(whole, 0, n))).shape().rank() == 3);
  }
}

TEST_CASE("samples of 16 bits are kept where they are asked for") {
  std::vector<std::uint16_t> grey;
  for (int i = 0; i < 20; ++i) grey.push_back(static_cast<std::uint16_t>(3000 * i));
  CHECK(words(decode(from_hex(samples::png_grey16))) == grey);
  CHECK(words(decode(from_hex(samples::jp2_grey16))) == grey);
  CHECK(words(decode(text("P2 3 1 65535 0 1 65535"))) == std::vector<std::uint16_t>{0, 1, 65535});
  // Values up to 1000 are scaled to 65535.
  CHECK(words(decode(text("P2 2 1 1000 1 1000"))) == std::vector<std::uint16_t>{66, 65535});
  for (const bool wide : {false, true}) {
    CHECK(decode_image(text("P2 1 1 255 7"), nullptr, {.wide = wide}).dtype() == DType::uint8);
    CHECK(decode_image(from_hex(samples::png_palette), nullptr, {.wide = wide}).dtype() ==
          DType::uint8);
  }
  CHECK(decode_image(from_hex(samples::png_grey16), nullptr).dtype() == DType::uint8);
}

TEST_CASE("TIFF of 16 bits: grey, inverted grey, alpha, planes and tiles") {
  Tiff grey{.width = 2, .height = 2, .bits = 16, .samples = 1};
  grey.pixels = {1, 0, 0, 1, 0xff, 0xff, 2, 0};
  CHECK(words(decode(bytes_of(grey))) == std::vector<std::uint16_t>{1, 256, 65535, 2});
  grey.tags = {{262, 0}};
  CHECK(words(decode(bytes_of(grey))) == std::vector<std::uint16_t>{65534, 65279, 0, 65533});
  // Grey and alpha.
  Tiff alpha{.width = 2, .height = 1, .bits = 16, .samples = 2, .tags = {{338, 2}}};
  alpha.pixels = {1, 0, 0, 0, 0, 1, 0xff, 0xff};
  CHECK(words(decode(bytes_of(alpha))) == std::vector<std::uint16_t>{1, 256});
  // A tile of 16 x 16 that the image ends in.
  Tiff tiled{.width = 2, .height = 2, .bits = 16, .samples = 1, .pixels = Encoded(512)};
  tiled.pixels[2] = 7;
  tiled.pixels[32] = 9;
  Encoded bytes = bytes_of(tiled);
  tiled.tags = {{322, 16}, {323, 16}, {324, 0}, {325, 512}};
  bytes = bytes_of(tiled);
  // TileOffsets says what StripOffsets says.
  for (std::size_t at = 10; at + 12 <= bytes.size(); at += 12) {
    if (bytes[at] != 0x44 || bytes[at + 1] != 1) continue;
    const std::size_t data = bytes.size() - 512;
    bytes[at + 8] = static_cast<std::uint8_t>(data);
    bytes[at + 9] = static_cast<std::uint8_t>(data >> 8);
    break;
  }
  CHECK(words(decode(bytes)) == std::vector<std::uint16_t>{0, 7, 9, 0});
}

TEST_CASE("a bitmap whose masks have more than 8 bits keeps them") {
  const auto little = [](std::uint32_t value) { return number(value, 4, false); };
  const Encoded head = text("BM") + Encoded(8) + little(66) + little(40) + little(1) + little(1) +
                       Encoded{1, 0, 32, 0} + little(3) + Encoded(20) + little(0x3ff00000) +
                       little(0xffc00) + little(0x3ff);
  const Tensor image = decode(head + little(1023U << 20 | 512U << 10 | 1));
  REQUIRE(image.dtype() == DType::uint16);
  CHECK(std::vector<int>{image.values<std::uint16_t>()[0], image.values<std::uint16_t>()[1],
                         image.values<std::uint16_t>()[2]} == std::vector<int>{65535, 32800, 64});
}

namespace {

Encoded bitmap_of_runs(std::uint32_t width, std::uint32_t height) {
  const auto little = [](std::uint32_t value) { return number(value, 4, false); };
  return text("BM") + Encoded(8) + little(62) + little(40) + little(width) + little(height) +
         Encoded{1, 0, 8, 0} + little(1) + Encoded(12) + little(2) + little(0) + little(0) +
         little(0) + Encoded{0, 1};
}

// The headers of a JPEG 2000 codestream of one component of 8 bits.
Encoded codestream(std::uint32_t size, std::uint32_t tile, std::uint8_t precinct) {
  const auto big = [](std::uint32_t value, int width) { return number(value, width, true); };
  Encoded siz{0, 41, 0, 0};
  for (const std::uint32_t value : {size, size, 0U, 0U, tile, tile, 0U, 0U})
    siz = siz + big(value, 4);
  siz = siz + Encoded{0, 1, 7, 1, 1};
  const Encoded cod{0, 13, 1, 0, 0, 1, 0, 0, 4, 4, 0, 1, precinct};
  const Encoded qcd{0, 4, 0x40, 0x40};
  return Encoded{0xff, 0x4f, 0xff, 0x51} + siz + Encoded{0xff, 0x52} + cod + Encoded{0xff, 0x5c} +
         qcd + Encoded{0xff, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x93, 0xff, 0xd9};
}

void refuse(const Encoded& bytes, const std::string& why) {
  const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{32} << 20);
  CHECK_THROWS_WITH(decode_image(bytes, budget, {.wide = true, .upright = true}),
                    Catch::Contains(why));
  CHECK(budget->used() == 0);
}

}  // namespace

TEST_CASE("what a header claims is charged, or refused, before a codec allocates it") {
  refuse(bitmap_of_runs(30000, 30000), "64 bytes of runs cannot hold 30000 x 30000 pixels");
  CHECK(decode(bitmap_of_runs(100, 50)).shape() == Shape{50, 100, 3});
  // 62,001 tiles.
  refuse(codestream(8192, 33, 0xff), "it ends early");
  // 1,000 tiles' worth of bytes, whose tables do not fit.
  refuse(codestream(8192, 1024, 0xff) + Encoded(60000), "do not fit");
  refuse(codestream(4096, 33, 0xff) + Encoded(std::size_t{1} << 20), "do not fit");
  // Data that follow a tile-part without the header of another one.
  Encoded twice = codestream(8, 8, 0xff);
  twice[twice.size() - 7] = 14;
  twice.back() = 0x93;
  refuse(twice + Encoded(40), "JPEG 2000 image");
  // Precincts of one pixel.
  refuse(codestream(1000, 1000, 0x00), "do not fit");
  // A PNG header of 60000 x 60000 pixels and no data.
  Encoded png = part(from_hex(samples::png_rgb), 0, 33);
  for (const std::size_t at : {16U, 20U}) {
    const Encoded size = number(60000, 4, true);
    std::copy(size.begin(), size.end(), png.begin() + static_cast<std::ptrdiff_t>(at));
  }
  const Encoded crc = number(crc32(part(png, 12, 29)), 4, true);
  std::copy(crc.begin(), crc.end(), png.begin() + 29);
  refuse(png + text("\0\0\0\0IDAT....") + Encoded(40), "PNG image");
  // Strips of TIFF: no data, and deflated data for a thousandth.
  Tiff tiff{.width = 3000, .height = 3000, .pixels = Encoded(100)};
  refuse(bytes_of(tiff), "it ends early");
  tiff.tags = {{259, 8}};
  refuse(bytes_of(tiff), "it ends early");
  // A tile of 18000 x 18000 pixels for an image of one.
  tiff = {.width = 1, .height = 1, .pixels = Encoded(100)};
  tiff.tags = {{259, 5}, {322, 18000}, {323, 18000}, {324, 200}, {325, 100}};
  refuse(bytes_of(tiff), "it ends early");
}

TEST_CASE("decoding ends at a deadline") {
  std::string pixels = "P2 1000 1000 255";
  for (int i = 0; i < 1000000; ++i) pixels += " 1";
  const StopScope scope({nullptr, std::chrono::steady_clock::now()});
  CHECK_THROWS_WITH(decode(text(pixels)), Catch::Contains("deadline"));
}
