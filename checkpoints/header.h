// The header of a checkpoint file: its first 128 bytes.
#pragma once

#include <array>
#include <cstdint>

#include "checkpoints/checkpoint.h"
#include "core/stream.h"

namespace ondine {

inline constexpr std::size_t header_size = 128;

struct Header {
  std::uint32_t version = checkpoint_version;
  std::uint64_t file_bytes = 0;
  std::uint64_t manifest_bytes = 0;
  Sha256Digest fingerprint{};
  Sha256Digest manifest_digest{};
};

std::array<std::byte, header_size> encode_header(const Header& header);
// Verifies magic and checksum first, so that an unknown version is not reported as damage but as
// Error(unsupported).
Header decode_header(Source& source);

}  // namespace ondine
