#include "core/stop.h"

#include "core/message.h"

namespace ondine {
namespace {

thread_local const Stop* innermost = nullptr;

}  // namespace

void Stop::check() const {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
    fail(ErrorCode::cancelled, "the call was cancelled");
  }
  if (deadline && std::chrono::steady_clock::now() > *deadline) {
    fail(ErrorCode::limit, "the call took longer than its deadline");
  }
}

StopScope::StopScope(Stop stop) noexcept : stop_(stop), outer_(innermost) { innermost = &stop_; }

StopScope::~StopScope() { innermost = outer_; }

void check_stop() {
  if (innermost != nullptr) innermost->check();
}

}  // namespace ondine
