#include <atomic>

#include "ondine/train/interrupt.h"
#include "ondine/windows.h"

namespace ondine::cli {
namespace {

constexpr int interrupt_number = 2;    // SIGINT
constexpr int terminate_number = 15;   // SIGTERM
constexpr DWORD time_to_save = 60000;  // the system ends the program sooner, after some seconds

std::atomic<int> interrupted = 0;

// Runs in a thread of its own. Nobody handles the second event: it ends the process.
BOOL WINAPI on_event(DWORD event) {
  const bool is_key = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
  int none = 0;
  const bool first =
      interrupted.compare_exchange_strong(none, is_key ? interrupt_number : terminate_number);
  // A console that closes, or the end of a session: the process ends when this returns.
  if (first && !is_key) ::Sleep(time_to_save);
  return first ? TRUE : FALSE;
}

}  // namespace

struct InterruptGuard::Before {};

InterruptGuard::InterruptGuard() {
  interrupted = 0;
  ::SetConsoleCtrlHandler(on_event, TRUE);
}

InterruptGuard::~InterruptGuard() { ::SetConsoleCtrlHandler(on_event, FALSE); }

bool InterruptGuard::requested() noexcept { return interrupted != 0; }

int InterruptGuard::exit_code() noexcept { return 128 + interrupted; }

}  // namespace ondine::cli
