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

const Stop* current_stop() noexcept { return innermost; }

ActingFor::ActingFor(const Stop* stop) noexcept : own_(innermost) { innermost = stop; }

ActingFor::~ActingFor() { innermost = own_; }

namespace detail {

constinit thread_local std::int64_t work_left = work_between_looks;

void look() {
  work_left = work_between_looks;
  check_stop();
}

}  // namespace detail

void check_stop() {
  if (innermost != nullptr) innermost->check();
}

}  // namespace ondine
