#include "proto/mapped_file.h"

#include <algorithm>
#include <array>
#include <functional>

#include "core/message.h"

namespace ondine {

bool is_remote_file_system(std::uint32_t type) noexcept {
  constexpr std::array<std::uint32_t, 10> remote{
      0x6969,      // NFS
      0x517B,      // SMB
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB 2
      0x65735546,  // FUSE, virtiofs
      0x01021997,  // 9P
      0x00C36400,  // Ceph
      0x5346414F,  // AFS
      0x73757245,  // Coda
      0x0BD00BD0,  // Lustre
  };
  return std::find(remote.begin(), remote.end(), type) != remote.end();
}

void MappedFile::require_unchanged() const {
  if (!watched_.is_open() || version_of(watched_) == version_) return;
  fail(ErrorCode::io, quoted(name_), " was changed while the model used it; load the model again");
}

bool MappedFile::maps(std::span<const std::byte> part) const noexcept {
  const std::less_equal<const std::byte*> before;
  return !copied_ && !part.empty() && before(bytes_.data(), part.data()) &&
         before(part.data() + part.size(), bytes_.data() + bytes_.size());
}

}  // namespace ondine
