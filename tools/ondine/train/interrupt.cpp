#include "ondine/train/interrupt.h"

#include <csignal>

namespace ondine::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_signal(int signal_number) {
  interrupted = signal_number;
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::requested() noexcept { return interrupted != 0; }

int InterruptGuard::exit_code() noexcept { return 128 + interrupted; }

}  // namespace ondine::cli
