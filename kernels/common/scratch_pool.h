// Scratch memory of the tasks of one parallel loop.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/message.h"
#include "core/parallel.h"
#include "kernels/common/workspace.h"

namespace ondine::math {

// Splits a workspace into equal slots, one of which each running task owns. At most as many tasks
// run at once as the pool has threads, so one is always free.
class ScratchPool {
 public:
  // Bytes for `threads` slots; as two parts of a workspace.
  static std::size_t bytes(std::size_t slot_bytes, int threads) {
    const auto slots = static_cast<unsigned>(threads < 1 ? 1 : threads);
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(std::uint64_t{align_up(slot_bytes)}, slots, &bytes)) {
      bytes = std::numeric_limits<std::uint64_t>::max();
    }
    require_part(bytes, 2 * largest_part);
    return static_cast<std::size_t>(bytes);
  }

  ScratchPool(Workspace workspace, std::size_t slot_bytes)
      : data_(static_cast<std::byte*>(workspace.data)), stride_(align_up(slot_bytes)) {
    count_ = stride_ == 0 ? capacity : workspace.bytes / stride_;
    if (count_ > capacity) count_ = capacity;
    if (count_ == 0) {
      fail(ErrorCode::internal, "workspace has ", workspace.bytes, " bytes, needs ", stride_);
    }
    free_.fill(~std::uint64_t{0});
  }

  // body(scratch, first, last) for each chunk.
  template <class Body>
  void for_chunks(ThreadPool& pool, std::int64_t n, std::int64_t grain, Body&& body) {
    if (static_cast<std::size_t>(pool.threads()) > count_) {
      for (std::int64_t first = 0; first < n; first += grain) {
        body(data_, first, first + grain < n ? first + grain : n);
      }
      return;
    }
    pool.for_chunks(n, grain, [&](std::int64_t first, std::int64_t last) {
      const Lease lease(*this);
      body(data_ + lease.index * stride_, first, last);
    });
  }

 private:
  static constexpr std::size_t capacity = 512;

  struct Lease {
    explicit Lease(ScratchPool& of) : slots(of), index(of.take()) {}
    ~Lease() { slots.give_back(index); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ScratchPool& slots;
    std::size_t index;
  };

  std::size_t take() {
    for (std::size_t word = 0;; word = (word + 1) % free_.size()) {
      std::atomic_ref<std::uint64_t> bits(free_[word]);
      auto seen = bits.load(std::memory_order_relaxed);
      while (seen != 0) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(seen));
        const std::size_t index = word * 64 + bit;
        if (index >= count_) break;
        if (bits.compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acquire)) {
          return index;
        }
      }
    }
  }
  void give_back(std::size_t index) {
    std::atomic_ref<std::uint64_t>(free_[index / 64])
        .fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_release);
  }

  std::byte* data_;
  std::size_t stride_;
  std::size_t count_ = 0;
  std::array<std::uint64_t, capacity / 64> free_;
};

}  // namespace ondine::math
