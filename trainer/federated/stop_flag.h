// Whether a node is to end, and waiting that notices it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace ondine::federated {

class StopFlag {
 public:
  // `goes_on` is asked on the thread of the node; may be empty.
  void ask(std::function<bool()> goes_on) { goes_on_ = std::move(goes_on); }
  // From any thread or a signal handler.
  void request() noexcept { requested_ = true; }
  void reset() noexcept { requested_ = false; }

  bool is_set() {
    if (!requested_ && goes_on_ && !goes_on_()) requested_ = true;
    return requested_;
  }

  // False where the node is to end before the time is over.
  bool wait(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!is_set()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return true;
      std::this_thread::sleep_for(std::min(left, std::chrono::milliseconds(50)));
    }
    return false;
  }

 private:
  std::atomic<bool> requested_ = false;
  std::function<bool()> goes_on_;
};

}  // namespace ondine::federated
