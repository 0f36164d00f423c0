// Checksums of stored bytes: SHA-256 (FIPS 180-4) and CRC-32C (Castagnoli, RFC 3720).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ondine {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Feed any number of chunks, then call finish() once.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes) noexcept;
  Sha256Digest finish() noexcept;

 private:
  void compress(const std::byte* block) noexcept;

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t length_ = 0;
};

Sha256Digest sha256(std::span<const std::byte> bytes) noexcept;

// Continues `crc`, the checksum of what came before (0 at the start).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;
// crc32c() computed from tables only; crc32c() uses the processor's instruction if there is one.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

// Two lower-case digits a byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace ondine
