// A small pool of threads. Work is cut into chunks that do not depend on the number of threads, so
// every result has the same bits for any number.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace ondine {

// One call of for_chunks at a time: a second caller, or a nested one, runs its chunks itself.
class ThreadPool {
 public:
  // `threads` counts the caller too; 1 starts none. Throws Error(limit) when the system has no more
  // of them. In WebAssembly, where a page loads its threads once, all pools share them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept { return threads_; }

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
  class Workers;
  using Call = void (*)(void*, std::int64_t, std::int64_t);
  void run(std::int64_t n, std::int64_t grain, const void* body, Call call);

  int threads_;
  std::shared_ptr<Workers> workers_;  // none for one thread
};

}  // namespace ondine
