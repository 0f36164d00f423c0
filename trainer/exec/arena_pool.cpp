#include "trainer/exec/arena_pool.h"

#include <algorithm>

namespace ondine::trainer {

Arena::~Arena() {
  if (pool_ != nullptr) pool_->release(std::move(memory_));
}

Arena ArenaPool::acquire(std::size_t bytes, const std::shared_ptr<MemoryBudget>& budget) {
  if (bytes == 0) return {};
  {
    const std::lock_guard lock(mutex_);
    free_.reserve(free_.size() + lent_ + 1);
    const auto fits =
        std::ranges::find_if(free_, [&](const Tensor& memory) { return memory.bytes() >= bytes; });
    if (fits != free_.end()) {
      Tensor memory = std::move(*fits);
      free_.erase(fits);
      ++lent_;
      return {*this, std::move(memory)};
    }
    if (!free_.empty()) free_.pop_back();
    ++lent_;
  }
  try {
    return {*this, Tensor(DType::uint8, {static_cast<std::int64_t>(bytes)}, budget)};
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --lent_;
    throw;
  }
}

void ArenaPool::release(Tensor memory) noexcept {
  const std::lock_guard lock(mutex_);
  --lent_;
  const auto at = std::ranges::find_if(
      free_, [&](const Tensor& other) { return other.bytes() >= memory.bytes(); });
  free_.insert(at, std::move(memory));
}

}  // namespace ondine::trainer
