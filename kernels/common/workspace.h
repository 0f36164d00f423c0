// Scratch memory for one call, given by the caller: the numerics never allocate.
#pragma once

#include <cstddef>

namespace ondine::math {

// `bytes` up to the alignment of workspaces.
constexpr std::size_t align_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// 64-byte aligned. The size depends on the number of threads, results do not. With less than the
// threads of the pool need, but enough for one, a call runs on one thread.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace ondine::math
