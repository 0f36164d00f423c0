// Counts bytes against a bound. Shared by everything one call or one model allocates.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

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

// Bytes charged to a budget, released by the destructor. Does nothing without a budget.
class BudgetShare {
 public:
  explicit BudgetShare(std::shared_ptr<MemoryBudget> budget) noexcept
      : budget_(std::move(budget)) {}
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;
  ~BudgetShare() {
    if (budget_) budget_->release(bytes_);
  }

  // Throws Error(limit) and charges nothing when `bytes` more do not fit.
  void add(std::uint64_t bytes) {
    if (budget_) budget_->charge(bytes);
    bytes_ += bytes;
  }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::uint64_t bytes_ = 0;
};

// 64-byte aligned memory, nullptr for 0 bytes. Throws OutOfMemory when the system has no more.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory) noexcept;

}  // namespace ondine
