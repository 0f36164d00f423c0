// Memory that threads may take together while they decode files.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <ondine/limits.h>

#include "core/budget.h"
#include "core/message.h"

namespace ondine::data {

// Thread-safe.
class DecodeBudget {
 public:
  explicit DecodeBudget(const Limits& limits)
      : bytes_(std::min(limits.tensor_bytes, limits.arena_bytes / 4)),
        budget_(std::make_shared<MemoryBudget>(bytes_)) {}

  std::uint64_t bytes() const noexcept { return bytes_; }

  // Returns body(budget), which must release all that it charges. If that does not fit beside what
  // other threads decode, it waits for them and tries again alone, so whether a file fits depends
  // on the file only.
  template <class Body>
  auto run(const Body& body) const {
    try {
      const std::shared_lock lock(mutex_);
      return body(budget_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::limit) throw;
    }
    const std::unique_lock lock(mutex_);
    return body(budget_);
  }

 private:
  std::uint64_t bytes_;
  std::shared_ptr<MemoryBudget> budget_;
  mutable std::shared_mutex mutex_;
};

}  // namespace ondine::data
