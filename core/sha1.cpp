#include "core/sha1.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ondine {

void Sha1::block(const std::byte* data) noexcept {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = std::to_integer<std::uint32_t>(data[4 * i]) << 24 |
           std::to_integer<std::uint32_t>(data[4 * i + 1]) << 16 |
           std::to_integer<std::uint32_t>(data[4 * i + 2]) << 8 |
           std::to_integer<std::uint32_t>(data[4 * i + 3]);
  }
  for (std::size_t i = 16; i < 80; ++i) {
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  }
  auto [a, b, c, d, e] = state_;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = 0;
    std::uint32_t k = 0;
    if (i < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999U;
    } else if (i < 40) {
      f = b ^ c ^ d;
      k = 0x6ed9eba1U;
    } else if (i < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdcU;
    } else {
      f = b ^ c ^ d;
      k = 0xca62c1d6U;
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state_[0] += a;
  state_[1] += b;
  state_[2] += c;
  state_[3] += d;
  state_[4] += e;
}

void Sha1::update(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const auto filled = static_cast<std::size_t>(length_ % 64);
    const std::size_t take = std::min(bytes.size(), 64 - filled);
    length_ += take;
    if (take == 64) {
      block(bytes.data());
    } else {
      std::memcpy(pending_.data() + filled, bytes.data(), take);
      if (filled + take == 64) block(pending_.data());
    }
    bytes = bytes.subspan(take);
  }
}

std::string Sha1::finish() {
  const std::uint64_t bits = length_ * 8;
  const std::byte one{0x80};
  update({&one, 1});
  const std::byte zero{0};
  while (length_ % 64 != 56) update({&zero, 1});
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(length);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) out += digits[word >> shift & 15U];
  }
  return out;
}

}  // namespace ondine
