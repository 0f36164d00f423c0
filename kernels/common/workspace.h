// Scratch memory for one call, given by the caller: the numerics never allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/checked.h"

namespace ondine::math {

// `bytes` up to the alignment of workspaces.
constexpr std::size_t align_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// An eighth of what addresses reach: a sum of seven parts of a workspace does not wrap around.
constexpr std::size_t largest_part = std::numeric_limits<std::size_t>::max() / 8 + 1;

inline void require_part(std::uint64_t bytes, std::size_t most) {
  if (bytes > most) {
    fail(ErrorCode::limit, "a part of a workspace would take ", bytes, " bytes; addresses of ",
         8 * sizeof(void*), " bits allow ", most);
  }
}

// The bytes of `count` elements of T, aligned: a part of a workspace. Error(limit) above
// largest_part.
template <class T>
std::size_t bytes_of(std::int64_t count) {
  const auto bytes = static_cast<std::uint64_t>(checked_mul(count, sizeof(T)));
  require_part(bytes, largest_part);
  return align_up(static_cast<std::size_t>(bytes));
}

// Parts of a workspace that follow each other.
class Parts {
 public:
  // The byte offset of `count` elements of T.
  template <class T>
  std::size_t add(std::int64_t count) {
    const auto bytes = static_cast<std::uint64_t>(checked_mul(count, sizeof(T)));
    return add_bytes(size_in_memory(bytes, "a workspace"));
  }
  std::size_t add_bytes(std::size_t bytes) {
    const std::size_t offset = bytes_;
    const std::uint64_t end = std::uint64_t{bytes_} + bytes + 63;
    bytes_ = size_in_memory(end, "a workspace") & ~std::size_t{63};
    return offset;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

// 64-byte aligned. The size depends on the number of threads, results do not. With less than the
// threads of the pool need, but enough for one, a call runs on one thread.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace ondine::math
