// Counts bytes against a bound. Shared by everything one call or one model allocates.
#pragma once

#include <atomic>
#include <cstdint>

namespace ondine {

// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : limit_(bytes) {}

  // Throws Error(limit) and charges nothing when `bytes` more do not fit.
  void charge(std::uint64_t bytes);
  void release(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::uint64_t limit() const noexcept { return limit_; }

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
};

// 64-byte aligned memory, nullptr for 0 bytes. Throws Error(limit) when the system has no more.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory) noexcept;

}  // namespace ondine
