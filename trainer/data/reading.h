// Bounds on reading rows of a data set.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <ondine/dataset.h>

#include "core/stop.h"

namespace ondine::data {

struct Reading {
  std::optional<std::chrono::milliseconds> deadline = {};  // of opening, and of each batch
  std::shared_ptr<const CancelFlag> cancel = {};
  std::uint64_t batch_bytes = default_arena_bytes();

  Reading() = default;
  explicit Reading(const DatasetOptions& options)
      : deadline(options.deadline),
        cancel(options.cancel),
        batch_bytes(options.limits.arena_bytes) {}

  // For what begins now.
  Stop stop() const {
    Stop stop{cancel.get(), {}};
    if (deadline) stop.deadline = std::chrono::steady_clock::now() + *deadline;
    return stop;
  }
};

}  // namespace ondine::data
