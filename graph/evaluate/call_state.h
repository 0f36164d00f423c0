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

  const std::function<bool(double)>* progress = nullptr;  // false: stop
  std::chrono::steady_clock::time_point reported{};

  // Error(cancelled) or Error(limit).
  void check() const;
  // The same, and tells the progress callback at most every 10 ms that `done` of `all` is done.
  void check(std::size_t done, std::size_t all);
  void count_iteration();
};

// Tells the random streams of nested calls apart.
std::uint32_t mix_stream(std::uint32_t salt, std::uint64_t value) noexcept;

}  // namespace ondine::graph
