// Elements of a tensor that are computed when they are first asked for.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "core/packed_elements.h"

namespace ondine {

// The address exists from the start; no memory is taken before compute() or hold(). Thread-safe.
class DeferredElements {
 public:
  // Writes the elements into memory, which holds zeros or what an earlier call wrote. Must not
  // throw. Destroyed once compute() was called; again() makes a copy.
  using Compute = std::function<void(std::span<std::byte> memory)>;

  // Throws Error(limit) when the system has no `bytes` left. `bytes` must not be 0. `source`: what
  // the elements are computed from. `packed`: the same, where it is their packed form.
  DeferredElements(std::size_t bytes, Compute compute, std::optional<PackedElements> packed = {},
                   std::span<const std::byte> source = {});
  ~DeferredElements();
  DeferredElements(const DeferredElements&) = delete;
  DeferredElements& operator=(const DeferredElements&) = delete;

  void* memory() const noexcept { return memory_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::span<const std::byte> source() const noexcept { return source_; }
  // Returns when the elements are in memory, where they stay.
  void compute() noexcept;
  // The elements are in memory() until drop() was called as often; then its pages go back to the
  // system, unless compute() was called.
  void hold() const noexcept;
  void drop() const noexcept;
  // Whether compute() was called.
  bool computed() const noexcept { return computed_; }
  // nullopt once the elements are computed: they may have been written to since.
  std::optional<PackedElements> packed() const;
  // A copy with memory of its own, whose elements are computed when they are asked for; nullptr
  // once the elements of this object are computed. Throws like the constructor.
  std::shared_ptr<DeferredElements> again() const;

 private:
  void* memory_;
  std::size_t bytes_;
  Compute compute_;
  std::optional<PackedElements> packed_;
  std::span<const std::byte> source_;
  std::atomic<bool> computed_ = false;
  mutable std::mutex mutex_;
  mutable std::size_t holders_ = 0;
};

// Deferred elements of a tensor; nullptr if its elements are not deferred.
const DeferredElements* deferred_elements(const Tensor& tensor) noexcept;

// Has a tensor's elements in memory while it lives; deferred ones do not stay there. The tensor
// must outlive it.
class HeldElements {
 public:
  explicit HeldElements(const Tensor& tensor) noexcept;
  ~HeldElements();
  HeldElements(const HeldElements&) = delete;
  HeldElements& operator=(const HeldElements&) = delete;

  const void* data() const noexcept { return data_; }

 private:
  const DeferredElements* deferred_;
  const void* data_;
};

}  // namespace ondine
