// ChaCha20 (RFC 8439): random words that nobody can tell from others without the key.
#pragma once

#include <array>
#include <cstdint>

namespace ondine {

using ChaChaKey = std::array<std::uint32_t, 8>;
using ChaChaNonce = std::array<std::uint32_t, 3>;
using ChaChaBlock = std::array<std::uint32_t, 16>;

// Words are those of the RFC's little-endian bytes.
ChaChaBlock chacha_block(const ChaChaKey& key, std::uint32_t counter,
                         const ChaChaNonce& nonce) noexcept;

}  // namespace ondine
