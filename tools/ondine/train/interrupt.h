// SIGINT and SIGTERM as a question that the training loop asks between steps.
#pragma once

namespace ondine::cli {

// While it lives, the first signal only sets a flag; a second one ends the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool requested() noexcept;
  // What a shell reports for a process that the signal ended: 130 or 143.
  static int exit_code() noexcept;
};

}  // namespace ondine::cli
