#include "graph/evaluate/call_state.h"

#include "core/message.h"
#include "core/stop.h"

namespace ondine::graph {

void CallState::check() const { Stop{cancel.get(), deadline}.check(); }

void CallState::check(std::size_t done, std::size_t all) {
  check();
  if (progress == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - reported < std::chrono::milliseconds(10)) return;
  reported = now;
  const double fraction = all == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all);
  if (!(*progress)(fraction)) {
    fail(ErrorCode::cancelled, "the call was cancelled");
  }
}

void CallState::count_iteration() {
  if (++iterations > limits.loop_iterations) {
    fail(ErrorCode::limit, "loops ran for more than ", limits.loop_iterations, " iterations");
  }
  check();
}

std::uint32_t mix_stream(std::uint32_t salt, std::uint64_t value) noexcept {
  // Finalizer of MurmurHash3 over both.
  std::uint64_t x = value ^ (std::uint64_t{salt} << 32 | 0x9E3779B9U);
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDULL;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ULL;
  return static_cast<std::uint32_t>(x ^ x >> 33);
}

}  // namespace ondine::graph
