// Elements of a tensor that are computed when they are first asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>

namespace ondine {

// The address exists from the start; no memory is taken before compute(). Thread-safe.
class DeferredElements {
 public:
  // Writes the elements into zeroed memory. Must not throw. Called at most once, then destroyed.
  using Compute = std::function<void(std::span<std::byte> memory)>;

  // Throws Error(limit) when the system has no `bytes` left. `bytes` must not be 0.
  DeferredElements(std::size_t bytes, Compute compute);
  ~DeferredElements();
  DeferredElements(const DeferredElements&) = delete;
  DeferredElements& operator=(const DeferredElements&) = delete;

  void* memory() const noexcept { return memory_; }
  // Returns when the elements are in memory.
  void compute() noexcept;

 private:
  void* memory_;
  std::size_t bytes_;
  Compute compute_;
  std::once_flag once_;
};

}  // namespace ondine
