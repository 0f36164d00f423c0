// Handler of SIGINT and SIGTERM, polled by the training loop between steps.
#pragma once

#include <csignal>

#include <array>

namespace ondine::cli {

// While alive, the first signal only sets a flag; a second one ends the process. A signal that was
// ignored stays so.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool requested() noexcept;
  // The exit code that shells use for a process killed by the signal: 130 or 143.
  static int exit_code() noexcept;

 private:
  std::array<struct sigaction, 2> before_;
};

}  // namespace ondine::cli
