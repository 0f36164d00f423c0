// Synthetic operands, the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace bench {

// Allocates at cache line boundaries, as tensors do.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

using Numbers = std::vector<float, LineAllocator<float>>;
using Memory = std::vector<std::byte, LineAllocator<std::byte>>;  // for a workspace

// n numbers in [-1, 1).
inline Numbers numbers(std::int64_t n) {
  Numbers x(static_cast<std::size_t>(n));
  std::uint32_t state = 1;
  for (auto& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return x;
}

}  // namespace bench
