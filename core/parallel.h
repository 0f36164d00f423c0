// A small pool of threads. Work is cut into chunks that do not depend on the number of threads, so
// every result has the same bits for any number.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace ondine {

// One call of for_chunks at a time: a second caller, or a nested one, runs its chunks itself.
class ThreadPool {
 public:
  // `threads` counts the caller too; 1 starts none. Throws Error(limit) when the system has no more
  // of them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(first, last) for [0, grain), [grain, 2 grain), ... up to n, in any order, at once on
  // several threads. Returns when all are done; rethrows one exception. Does not allocate.
  template <class Body>
  void for_chunks(std::int64_t n, std::int64_t grain, Body&& body) {
    using Function = std::remove_reference_t<Body>;
    run(n, grain, &body, [](void* f, std::int64_t first, std::int64_t last) {
      (*static_cast<Function*>(f))(first, last);
    });
  }

 private:
  using Call = void (*)(void*, std::int64_t, std::int64_t);
  void run(std::int64_t n, std::int64_t grain, const void* body, Call call);
  void work();
  void drain();
  void end() noexcept;

  std::vector<std::thread> workers_;
  std::atomic_flag busy_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  // The current job; written under mutex_ while no worker is active.
  void* body_ = nullptr;
  Call call_ = nullptr;
  std::int64_t n_ = 0;
  std::int64_t grain_ = 1;
  std::atomic<std::int64_t> next_{0};
  std::uint64_t generation_ = 0;
  int active_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace ondine
