// The arenas of a model's calls. All plans share them: only calls that run at the same time need
// several, and each arena is as large as the largest plan that needed it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ondine/tensor.h>

namespace ondine {
class MemoryBudget;
}

namespace ondine::trainer {

class ArenaPool;

// An arena borrowed from a pool; returned by the destructor.
class Arena {
 public:
  Arena() = default;
  Arena(ArenaPool& pool, Tensor memory) : pool_(&pool), memory_(std::move(memory)) {}
  Arena(Arena&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), memory_(std::move(other.memory_)) {}
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  std::byte* data() noexcept { return static_cast<std::byte*>(memory_.mutable_data()); }

 private:
  ArenaPool* pool_ = nullptr;
  Tensor memory_;
};

// Thread-safe. Must outlive the arenas.
class ArenaPool {
 public:
  // An arena of at least `bytes`; its content is undefined. Allocates nothing when one is free.
  // Otherwise the largest free one goes back to the system and a new one is charged to `budget`.
  // Throws Error(limit) when that is exceeded.
  Arena acquire(std::size_t bytes, const std::shared_ptr<MemoryBudget>& budget);

 private:
  friend class Arena;
  void release(Tensor memory) noexcept;

  std::mutex mutex_;
  std::vector<Tensor> free_;  // by size; has capacity for all that are lent
  std::size_t lent_ = 0;
};

}  // namespace ondine::trainer
