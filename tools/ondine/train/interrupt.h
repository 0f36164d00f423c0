// Ctrl-C and SIGTERM as a question that the training loop asks between steps.
#pragma once

namespace ondine::cli {

// While it lives, the first signal only sets a flag; a second one ends the
// process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool requested() noexcept;
};

}  // namespace ondine::cli
