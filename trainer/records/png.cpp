#include "trainer/records/png.h"

#include <algorithm>

namespace ondine::records {
namespace {

void append_big_endian(std::string& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xff);
}

// The polynomial of ISO 3309, reflected.
std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

// RFC 1950.
std::uint32_t adler32(const std::string& bytes) {
  constexpr std::uint32_t modulus = 65521;
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % modulus;
    b = (b + a) % modulus;
  }
  return b << 16 | a;
}

void append_chunk(std::string& to, const char* type, const std::string& data) {
  append_big_endian(to, static_cast<std::uint32_t>(data.size()));
  const std::string checked = type + data;
  to += checked;
  append_big_endian(to, crc32(checked));
}

// A zlib stream of stored blocks (RFC 1951).
std::string stored(const std::string& bytes) {
  constexpr std::size_t most = 65535;
  std::string result = "\x78\x01";
  std::size_t at = 0;
  do {
    const std::size_t size = std::min(most, bytes.size() - at);
    result += at + size == bytes.size() ? '\x01' : '\x00';
    for (const std::size_t field : {size, ~size}) {
      result += static_cast<char>(field & 0xff);
      result += static_cast<char>(field >> 8 & 0xff);
    }
    result.append(bytes, at, size);
    at += size;
  } while (at < bytes.size());
  append_big_endian(result, adler32(bytes));
  return result;
}

}  // namespace

std::string png_file(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height,
                     std::size_t channels) {
  constexpr char grey = 0;
  constexpr char colour = 2;
  std::string header;
  append_big_endian(header, static_cast<std::uint32_t>(width));
  append_big_endian(header, static_cast<std::uint32_t>(height));
  header += {8, channels == 1 ? grey : colour, 0, 0, 0};
  std::string rows;
  for (std::size_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    const auto row = pixels.subspan(y * width * channels, width * channels);
    rows.append(row.begin(), row.end());
  }
  std::string file = "\x89PNG\r\n\x1a\n";
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", stored(rows));
  append_chunk(file, "IEND", "");
  return file;
}

}  // namespace ondine::records
