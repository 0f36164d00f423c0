// What all nodes of one call share.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <ondine/limits.h>

#include "core/budget.h"
#include "core/parallel.h"

namespace ondine::graph {

struct CallState {
  ThreadPool* pool = nullptr;
  std::shared_ptr<MemoryBudget> budget;  // may be null
  Limits limits;
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t iterations = 0;  // of all loops so far
  std::shared_ptr<const CancelFlag> cancel;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  // Error(cancelled) or Error(limit).
  void check() const;
  void count_iteration();
};

// Tells the random streams of nested calls apart.
std::uint32_t mix_stream(std::uint32_t salt, std::uint64_t value) noexcept;

}  // namespace ondine::graph
