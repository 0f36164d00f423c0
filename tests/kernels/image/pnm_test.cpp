// Portable bitmaps, graymaps and pixmaps: text and bytes give the same images.
#include <cmath>

#include <catch2/catch.hpp>

#include "kernels/image/codecs/image.h"
#include "tests/support/op_harness.h"

using namespace ondine;

namespace {

Tensor decode(const std::string& text) {
  return kernels::decode_image(
      std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), nullptr);
}

void refuse(const std::string& text, const std::string& reason) {
  CAPTURE(text);
  CHECK_THROWS_WITH(decode(text), Catch::Contains("PNM image: " + reason));
}

std::string size_of(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " " + std::to_string(height) + "\n";
}

int value_at(std::int64_t i, int greatest) {
  return static_cast<int>((i * 7919 + 13) % (greatest + 1));
}

}  // namespace

TEST_CASE("graymaps and pixmaps of every greatest value are scaled to 255 and rounded") {
  for (const int greatest : {1, 2, 3, 100, 254, 255, 256, 257, 1000, 65535}) {
    for (const std::int64_t channels : {1, 3}) {
      CAPTURE(greatest, channels);
      const std::int64_t width = 5;
      const std::int64_t height = 3;
      std::string text = channels == 1 ? "P2 " : "P3 ";
      std::string bytes = channels == 1 ? "P5 " : "P6 ";
      for (std::string* one : {&text, &bytes}) {
        *one += size_of(width, height) + std::to_string(greatest) + "\n";
      }
      std::vector<std::uint8_t> want;
      for (std::int64_t i = 0; i < width * height * channels; ++i) {
        const int value = value_at(i, greatest);
        text += std::to_string(value) + " ";
        if (greatest > 255) bytes += static_cast<char>(value >> 8);
        bytes += static_cast<char>(value);
        const auto byte = static_cast<std::uint8_t>(std::floor(255.0 * value / greatest + 0.5));
        want.insert(want.end(), channels == 1 ? 3 : 1, byte);
      }
      const Tensor image = Tensor::of<std::uint8_t>({height, width, 3}, want);
      CHECK(decode(text).identical(image));
      CHECK(decode(bytes).identical(image));
      for (std::size_t n = 3; n < bytes.size(); ++n) {
        CAPTURE(n);
        CHECK_THROWS_AS(decode(bytes.substr(0, n)), Error);
      }
    }
  }
}

TEST_CASE("each row of a packed bitmap begins with a byte of its own") {
  for (std::int64_t width = 1; width <= 17; ++width) {
    for (const std::int64_t height : {1, 2}) {
      CAPTURE(width, height);
      std::string text = "P1 " + size_of(width, height);
      std::string packed = "P4 " + size_of(width, height);
      std::vector<std::uint8_t> want;
      for (std::int64_t y = 0; y < height; ++y) {
        std::string row(static_cast<std::size_t>((width + 7) / 8), '\0');
        for (std::int64_t x = 0; x < width; ++x) {
          const bool black = value_at(y * width + x, 100) % 3 == 0;
          text += black ? '1' : '0';
          if (black) row[static_cast<std::size_t>(x / 8)] |= static_cast<char>(0x80 >> x % 8);
          want.insert(want.end(), 3, black ? 0 : 255);
        }
        packed += row;
      }
      const Tensor image = Tensor::of<std::uint8_t>({height, width, 3}, want);
      CHECK(decode(text).identical(image));
      CHECK(decode(packed).identical(image));
      refuse(text.substr(0, text.size() - 1), "it ends early");
      refuse(packed.substr(0, packed.size() - 1), "it ends early");
    }
  }
}

TEST_CASE("numbers stand between white space and comments") {
  const Tensor image = decode("P2 2 1 9 3 9");
  for (const char* text : {"P2\n2\n1\n9\n3\n9\n", "P2\t2\t1\t9\t3\t9", "P2\r2\r1\r9\r3\r9",
                           "P2#no number 7\n2 1 9 3 9", "P2 2#\n1 9 3 #9\n9", "P2 2 1 9 3 9#",
                           "P2 002 1 09 3 0009", "P2 # one # two\n# 3\n2 1 9 3 9"}) {
    CAPTURE(text);
    CHECK(decode(text).identical(image));
  }
  CHECK(decode("P1 3 1 1\n0 #0\n1").identical(decode("P1 3 1 101")));
  for (const char* text : {"P2 2 1 9 3 ", "P2 2 1 9 3", "P2 2 1 9 3 #9", "P2 2 1 9 3 -9",
                           "P2 2 1 9 3 x9", "P2 2", "P2 ", "P2#2 1 9 3 9"}) {
    refuse(text, "");
  }
  refuse("P2 2 1 9 3 :", "a number is missing");
  refuse("P2 2 1 9 3 /", "a number is missing");
  refuse("P1 1 1 2", "a pixel is neither 0 nor 1");
  refuse("P1 1 1 /", "a pixel is neither 0 nor 1");
}

TEST_CASE("sizes are 1 to 2^31 - 1, greatest values 1 to 65535") {
  refuse("P2 0 1 9 ", "its size is 0 x 1");
  refuse("P2 1 0 9 ", "its size is 1 x 0");
  refuse("P2 2147483647 1 9 3", "it ends early");
  refuse("P2 2147483648 1 9 3", "a number is too large");
  refuse("P2 1 99999999999999999999 9 3", "a number is too large");
  refuse("P2 1 1 0 0", "its greatest value is not 1 to 65535");
  refuse("P2 1 1 65536 0", "its greatest value is not 1 to 65535");
  CHECK_NOTHROW(decode("P2 1 1 65535 0"));
  CHECK_NOTHROW(decode("P2 1 1 1 0"));
  CHECK(decode("P2 1 1 7 7").identical(Tensor::of<std::uint8_t>({1, 1, 3}, {255, 255, 255})));
  refuse("P2 1 1 7 8", "a pixel is above the greatest value");
  refuse(std::string("P5 1 1 7\n\x08", 10), "a pixel is above the greatest value");
}

TEST_CASE("no image asks for more pixels than its file has bytes for") {
  const auto budget = std::make_shared<MemoryBudget>(1);
  // Bytes of a row of 11 pixels: text has at least one for each number.
  const std::vector<std::pair<std::string, std::size_t>> kinds{
      {"P1 11 3 ", 11}, {"P2 11 3 255 ", 11}, {"P3 11 3 255 ", 33},
      {"P4 11 3 ", 2},  {"P5 11 3 255 ", 11}, {"P6 11 3 255 ", 33}};
  for (const auto& [head, row] : kinds) {
    CAPTURE(head);
    // Text is read up to its last number, bytes up to one white space after it.
    const std::size_t space = head[1] <= '3' ? 1 : 0;
    const auto decoded = [&, &head = head](std::size_t count) {
      const std::string text = head + std::string(count, '1');
      kernels::decode_image(
          std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), budget);
    };
    CHECK_THROWS_WITH(decoded(3 * row - space), Catch::Contains("do not fit"));
    CHECK_THROWS_WITH(decoded(3 * row - space - 1), Catch::Contains("it ends early"));
  }
  CHECK(budget->used() == 0);
}

TEST_CASE("formats are told apart by their first bytes, of which none may be missing") {
  for (const char* text : {"P0 1 1 1", "P7 1 1 1", "P5", "P", "Q5 1 1 1", "B", "RIFF", "RIFF1234",
                           "RIFF1234WEB", "RIFX1234WEBP", "II*", "MM", "\xff\xd8", "\x89PNG\r\n"}) {
    CAPTURE(text);
    const std::string size = std::to_string(std::string_view(text).size());
    CHECK_THROWS_WITH(decode(text), "the " + size +
                                        " bytes are not a JPEG, PNG, WebP, TIFF, JPEG 2000, BMP or "
                                        "PNM image");
  }
  CHECK_THROWS_WITH(decode("BM"), Catch::Contains("BMP image"));
  CHECK_THROWS_WITH(decode("P1 "), Catch::Contains("PNM image"));
}
