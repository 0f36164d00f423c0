// Elements of a tensor that are computed when they are first asked for.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>

#include "core/packed_elements.h"

namespace ondine {

// The address exists from the start; no memory is taken before compute(). Thread-safe.
class DeferredElements {
 public:
  // Writes the elements into zeroed memory. Must not throw. Called at most once, then destroyed.
  using Compute = std::function<void(std::span<std::byte> memory)>;

  // Throws Error(limit) when the system has no `bytes` left. `bytes` must not be 0. `packed`: what
  // the elements are computed from, where that is their packed form.
  DeferredElements(std::size_t bytes, Compute compute, std::optional<PackedElements> packed = {});
  ~DeferredElements();
  DeferredElements(const DeferredElements&) = delete;
  DeferredElements& operator=(const DeferredElements&) = delete;

  void* memory() const noexcept { return memory_; }
  // Returns when the elements are in memory.
  void compute() noexcept;
  // nullopt once the elements are computed: they may have been written to since.
  std::optional<PackedElements> packed() const;

 private:
  void* memory_;
  std::size_t bytes_;
  Compute compute_;
  std::optional<PackedElements> packed_;
  std::atomic<bool> computed_ = false;
  std::once_flag once_;
};

// Those of a tensor; nullptr where it has others.
const DeferredElements* deferred_elements(const Tensor& tensor) noexcept;

}  // namespace ondine
