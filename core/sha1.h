// SHA-1 (FIPS 180-4), for the checksums that the ONNX standard gives to external data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ondine {

class Sha1 {
 public:
  void update(std::span<const std::byte> bytes) noexcept;
  // Forty lower-case hexadecimal digits. Ends the computation.
  std::string finish();

 private:
  void block(const std::byte* data) noexcept;

  std::array<std::uint32_t, 5> state_{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U,
                                      0xc3d2e1f0U};
  std::array<std::byte, 64> pending_{};
  std::uint64_t length_ = 0;
};

}  // namespace ondine
