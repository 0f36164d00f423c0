#include "core/parallel.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/message.h"
#include "core/stop.h"

namespace ondine {
namespace {

// Waking a thread takes as long as a small operator, so that threads look for the next job for
// about 100 microseconds before they sleep.
constexpr int spins = 8000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class T, class Done>
void spin(T& value, Done&& done) {
  const std::atomic_ref<T> seen(value);
  for (int i = 0; i < spins && !done(seen.load(std::memory_order_relaxed)); ++i) relax();
}

// Work that the threads of a pool call for each chunk: the body, stopped as its caller is.
struct Job {
  void* body;
  void (*call)(void*, std::int64_t, std::int64_t);
  const Stop* stop;

  static void run(void* job, std::int64_t first, std::int64_t last) {
    const Job& self = *static_cast<const Job*>(job);
    const ActingFor caller(self.stop);
    check_stop();
    self.call(self.body, first, last);
  }
};

}  // namespace

ThreadPool::ThreadPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    end();
    fail(ErrorCode::limit, "cannot start thread ", workers_.size() + 2, " of ", threads, ": ",
         error.code().message());
  } catch (...) {
    end();
    throw;
  }
}

ThreadPool::~ThreadPool() { end(); }

void ThreadPool::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::run(std::int64_t n, std::int64_t grain, const void* body, Call call) {
  if (n <= 0) return;
  void* const function = const_cast<void*>(body);
  if (workers_.empty() || n <= grain || busy_.test_and_set(std::memory_order_acquire)) {
    for (std::int64_t first = 0; first < n; first += grain) {
      if (first > 0) check_stop();
      call(function, first, std::min(n, first + grain));
    }
    return;
  }
  Job job{function, call, current_stop()};
  {
    const std::lock_guard lock(mutex_);
    body_ = &job;
    call_ = Job::run;
    n_ = n;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    error_ = nullptr;
    std::atomic_ref(generation_).store(generation_ + 1, std::memory_order_relaxed);
  }
  wake_.notify_all();
  drain();
  // Workers that come from now on find no chunk left; those at work are waited for.
  spin(active_, [](int active) { return active == 0; });
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return active_ == 0; });
  busy_.clear(std::memory_order_release);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::drain() {
  for (;;) {
    const auto first = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (first >= n_) return;
    try {
      call_(body_, first, std::min(n_, first + grain_));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_.store(n_, std::memory_order_relaxed);
    }
  }
}

void ThreadPool::work() {
  std::uint64_t seen = 0;
  for (;;) {
    spin(generation_, [&](std::uint64_t generation) { return generation != seen; });
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      if (next_.load(std::memory_order_relaxed) >= n_) continue;
      std::atomic_ref(active_).store(active_ + 1, std::memory_order_relaxed);
    }
    drain();
    const std::lock_guard lock(mutex_);
    std::atomic_ref(active_).store(active_ - 1, std::memory_order_relaxed);
    if (active_ == 0) done_.notify_one();
  }
}

}  // namespace ondine
