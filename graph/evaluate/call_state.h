// CallState: state shared by all nodes of one call.
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
  std::uint64_t iterations = 0;  // of all loops
  std::shared_ptr<const CancelFlag> cancel;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  const std::function<bool(double)>* progress = nullptr;  // returns false to stop
  std::chrono::steady_clock::time_point reported{};

  // Throws Error(cancelled) when the caller asked to stop, Error(limit) past the deadline.
  void check() const;
  // Checks likewise, and reports done / all to the progress callback, at most every 10 ms.
  void check(std::size_t done, std::size_t all);
  void count_iteration();
};

// Derives the random stream of a nested call from that of its caller.
std::uint32_t mix_stream(std::uint32_t salt, std::uint64_t value) noexcept;

}  // namespace ondine::graph
