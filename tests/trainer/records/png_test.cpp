#include <catch2/catch.hpp>
#include <vector>

#include "trainer/records/png.h"

using namespace ondine::records;

namespace {

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

TEST_CASE("a PNG file of one grey pixel has the checksums that zlib computes") {
  const std::vector<std::uint8_t> pixel{200};
  const std::string file = png_file(pixel, 1, 1, 1);
  // Signature, IHDR (25 bytes), IDAT with 2 + 5 + 2 + 4 bytes of zlib data, IEND.
  REQUIRE(file.size() == 8 + 25 + 12 + 13 + 12);
  CHECK(file.substr(1, 3) == "PNG");
  CHECK(big_endian(file, 8) == 13);
  // CRC-32 of "IEND", as every PNG file has it.
  CHECK(big_endian(file, file.size() - 4) == 0xae426082);
  // CRC-32 of the IHDR of a grey 1x1 picture: zlib.crc32(b"IHDR" + bytes.fromhex(...)).
  CHECK(big_endian(file, 29) == 0x3a7e9b55);
  const std::string data = file.substr(41, 13);
  CHECK(data.substr(0, 9) == std::string("\x78\x01\x01\x02\x00\xfd\xff\x00\xc8", 9));
  // Adler-32 of 0, 200: a = 201, b = 1 + 201 = 202.
  CHECK(big_endian(data, 9) == ((1 + 201) << 16 | 201));
}

TEST_CASE("rows of more than one stored block are all in the file") {
  const std::vector<std::uint8_t> pixels(300 * 200 * 3, 7);
  const std::string file = png_file(pixels, 300, 200, 3);
  const std::size_t raw = 200 * (1 + 300 * 3);
  CHECK(big_endian(file, 33) == 2 + raw + 5 * 3 + 4);
  std::size_t at = 43;
  for (const std::size_t size : {std::size_t{65535}, std::size_t{65535}, raw - 2 * 65535}) {
    const auto little_endian = [&](std::size_t place) {
      return static_cast<std::uint8_t>(file[place]) +
             256U * static_cast<std::uint8_t>(file[place + 1]);
    };
    CHECK(file[at] == (size == 65535 ? 0 : 1));  // whether it is the last block
    CHECK(little_endian(at + 1) == size);
    CHECK(little_endian(at + 3) == 65535 - size);
    at += 5 + size;
  }
  CHECK(big_endian(file, 16) == 300);
  CHECK(big_endian(file, 20) == 200);
}
