#include "ondine/train/interrupt.h"

#include <array>
#include <csignal>

namespace ondine::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_signal(int signal_number) { interrupted = signal_number; }

// A signal that the parent ignores, as that of a background job, stays ignored.
void take(int signal_number, struct sigaction& before) {
  ::sigaction(signal_number, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction ours {};
  ours.sa_handler = on_signal;
  ours.sa_flags = static_cast<int>(SA_RESETHAND);  // a second one ends the process
  ::sigaction(signal_number, &ours, nullptr);
}

}  // namespace

struct InterruptGuard::Before {
  std::array<struct sigaction, 2> actions;
};

InterruptGuard::InterruptGuard() : before_(std::make_unique<Before>()) {
  interrupted = 0;
  take(SIGINT, before_->actions[0]);
  take(SIGTERM, before_->actions[1]);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &before_->actions[0], nullptr);
  ::sigaction(SIGTERM, &before_->actions[1], nullptr);
}

bool InterruptGuard::requested() noexcept { return interrupted != 0; }

int InterruptGuard::exit_code() noexcept { return 128 + interrupted; }

}  // namespace ondine::cli
