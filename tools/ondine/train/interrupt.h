// Handler of SIGINT and SIGTERM, or of the keys and events of a console, polled by the
// training loop between steps.
#pragma once

#include <memory>

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
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace ondine::cli
