#include "checkpoints/header.h"

#include <algorithm>
#include <span>

#include "core/message.h"

namespace ondine {
namespace {

using Bytes = std::array<std::byte, header_size>;

// Not text; any conversion of line ends changes it.
constexpr std::array<std::uint8_t, 8> magic{0x89, 'O', 'N', 'D', 'C', 0x0d, 0x0a, 0x1a};

constexpr std::size_t version_at = 8;
constexpr std::size_t file_bytes_at = 16;
constexpr std::size_t manifest_bytes_at = 24;
constexpr std::size_t fingerprint_at = 32;
constexpr std::size_t digest_at = 64;
constexpr std::size_t crc_at = 124;
// All other bytes are zero.

void put(Bytes& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t get(const Bytes& bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  }
  return value;
}

Sha256Digest get_digest(const Bytes& bytes, std::size_t at) {
  Sha256Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = std::to_integer<std::uint8_t>(bytes[at + i]);
  }
  return digest;
}

std::uint32_t crc_of(const Bytes& bytes) { return crc32c(std::span(bytes).first(crc_at)); }

}  // namespace

std::array<std::byte, header_size> encode_header(const Header& header) {
  Bytes bytes{};
  const auto copy = [&bytes](const auto& from, std::size_t at) {
    std::ranges::copy(std::as_bytes(std::span(from)), bytes.begin() + static_cast<long>(at));
  };
  copy(magic, 0);
  put(bytes, version_at, header.version, 4);
  put(bytes, file_bytes_at, header.file_bytes, 8);
  put(bytes, manifest_bytes_at, header.manifest_bytes, 8);
  copy(header.fingerprint, fingerprint_at);
  copy(header.manifest_digest, digest_at);
  put(bytes, crc_at, crc_of(bytes), 4);
  return bytes;
}

Header decode_header(Source& source) {
  if (source.size() < header_size) {
    fail(ErrorCode::corrupt, "has ", source.size(), " bytes, a checkpoint has at least ",
         header_size);
  }
  Bytes bytes{};
  source.read(bytes);
  if (!std::ranges::equal(std::as_bytes(std::span(magic)), std::span(bytes).first(magic.size()))) {
    fail(ErrorCode::corrupt, "does not begin like a checkpoint (bytes 0 to 7)");
  }
  const auto crc = static_cast<std::uint32_t>(get(bytes, crc_at, 4));
  if (crc != crc_of(bytes)) {
    fail(ErrorCode::corrupt, "header (bytes 0 to 127) has CRC-32C ", crc_of(bytes), ", it says ",
         crc);
  }
  Header header;
  header.version = static_cast<std::uint32_t>(get(bytes, version_at, 4));
  if (header.version > checkpoint_version) {
    fail(ErrorCode::unsupported, "checkpoint format ", header.version,
         " is newer than this library, which reads up to ", checkpoint_version);
  }
  header.file_bytes = get(bytes, file_bytes_at, 8);
  header.manifest_bytes = get(bytes, manifest_bytes_at, 8);
  header.fingerprint = get_digest(bytes, fingerprint_at);
  header.manifest_digest = get_digest(bytes, digest_at);
  if (bytes != encode_header(header)) fail(ErrorCode::corrupt, "header has bytes that are not 0");
  if (header.file_bytes != source.size()) {
    fail(ErrorCode::corrupt, "has ", source.size(), " bytes, its header says ", header.file_bytes);
  }
  return header;
}

}  // namespace ondine
