// What may end a long computation early: a deadline, or a flag that another thread sets.
#pragma once

#include <chrono>
#include <optional>

#include <ondine/limits.h>

namespace ondine {

struct Stop {
  const CancelFlag* cancel = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  // Throws Error(cancelled) or Error(limit).
  void check() const;
};

// While it lives, check_stop() on this thread asks `stop`, and so does ThreadPool between the
// chunks that this thread works on. The innermost scope counts.
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

}  // namespace ondine
