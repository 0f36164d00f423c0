// Reasons to end a long computation early: a deadline, or a flag that another thread sets.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <ondine/limits.h>

namespace ondine {

struct Stop {
  const CancelFlag* cancel = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  // Throws Error(cancelled) or Error(limit).
  void check() const;
};

// While it lives, check_stop() on this thread asks `stop`, and so do all threads of a ThreadPool
// that work for this one, between chunks and inside of them. The innermost scope counts.
class StopScope {
 public:
  explicit StopScope(Stop stop) noexcept;
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  Stop stop_;
  const Stop* outer_;
};

void check_stop();

// The Stop that check_stop() asks on this thread; nullptr if there is none. Another thread that
// works for this one takes it over by ActingFor.
const Stop* current_stop() noexcept;
class ActingFor {
 public:
  explicit ActingFor(const Stop* stop) noexcept;
  ~ActingFor();
  ActingFor(const ActingFor&) = delete;
  ActingFor& operator=(const ActingFor&) = delete;

 private:
  const Stop* own_;
};

namespace detail {
// Operations, of a nanosecond or so, that a thread does between two looks at the clock.
inline constexpr std::int64_t work_between_looks = std::int64_t{1} << 20;
extern constinit thread_local std::int64_t work_left;
void look();
}  // namespace detail

// Counts `work` operations that a loop has done or is about to do, and calls check_stop() after
// every million. Every loop whose length is a product of two sizes from a file calls it with the
// work of its inner loop, so that a deadline is kept whatever the sizes are.
inline void checkpoint(std::int64_t work) {
  if ((detail::work_left -= work) < 0) [[unlikely]]
    detail::look();
}

// Calls sort(less) for one of `before`'s kind; where there are many elements it has checkpoints.
template <class Before, class Sort>
void sort_checked(std::int64_t elements, const Before& before, Sort&& sort) {
  if (elements < detail::work_between_looks / 16) return sort(before);
  sort([&](const auto& a, const auto& b) {
    checkpoint(8);
    return before(a, b);
  });
}

// body(first, last) for pieces of [0, n) in order, with a checkpoint before each; an index is about
// `work_each` operations.
template <class Body>
void for_pieces(std::int64_t n, std::int64_t work_each, Body&& body) {
  const std::int64_t most = work_each < detail::work_between_looks / 4
                                ? detail::work_between_looks / (4 * (work_each > 0 ? work_each : 1))
                                : 1;
  for (std::int64_t first = 0; first < n; first += most) {
    const std::int64_t last = n - first < most ? n : first + most;
    checkpoint((last - first) * work_each);
    body(first, last);
  }
}

}  // namespace ondine
