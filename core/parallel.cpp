#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

  void run(std::int64_t first, std::int64_t last) const {
    const ActingFor caller(stop);
    check_stop();
    call(body, first, last);
  }
};

}  // namespace

// The threads of pools but for the callers.
class ThreadPool::Workers {
 public:
  ~Workers();

  // Those that a pool has: in WebAssembly all pools the same.
  static std::shared_ptr<Workers> for_a_pool();

  // There are at least `threads` then, with the caller. Throws Error(limit).
  void grow(int threads);

  // Whether nothing else ran: `job` did for all chunks, on at most `threads` threads.
  bool run(std::int64_t n, std::int64_t grain, const Job& job, int threads);

 private:
  void work();
  void drain();

  std::vector<std::thread> workers_;
  std::atomic_flag busy_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  // The current job; written under mutex_ while no worker is active.
  const Job* job_ = nullptr;
  std::int64_t n_ = 0;
  std::int64_t grain_ = 1;
  int most_ = 0;  // that may be active
  std::atomic<std::int64_t> next_{0};
  std::uint64_t generation_ = 0;
  int active_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

std::shared_ptr<ThreadPool::Workers> ThreadPool::Workers::for_a_pool() {
#ifdef __EMSCRIPTEN__
  static const auto shared = std::make_shared<Workers>();
  return shared;
#else
  return std::make_shared<Workers>();
#endif
}

void ThreadPool::Workers::grow(int threads) {
  const std::lock_guard lock(mutex_);
  const auto wanted = static_cast<std::size_t>(threads) - 1;
  workers_.reserve(wanted);
  try {
    while (workers_.size() < wanted) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    fail(ErrorCode::limit, "cannot start thread ", workers_.size() + 2, " of ", threads, ": ",
         error.code().message());
  }
}

ThreadPool::Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

bool ThreadPool::Workers::run(std::int64_t n, std::int64_t grain, const Job& job, int threads) {
  if (busy_.test_and_set(std::memory_order_acquire)) return false;
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    n_ = n;
    grain_ = grain;
    most_ = threads - 1;
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
  const std::exception_ptr error = std::exchange(error_, nullptr);
  busy_.clear(std::memory_order_release);
  if (error) std::rethrow_exception(error);
  return true;
}

void ThreadPool::Workers::drain() {
  for (;;) {
    const auto first = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (first >= n_) return;
    try {
      job_->run(first, std::min(n_, first + grain_));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_.store(n_, std::memory_order_relaxed);
    }
  }
}

void ThreadPool::Workers::work() {
  std::uint64_t seen = 0;
  for (;;) {
    spin(generation_, [&](std::uint64_t generation) { return generation != seen; });
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      if (active_ >= most_ || next_.load(std::memory_order_relaxed) >= n_) continue;
      std::atomic_ref(active_).store(active_ + 1, std::memory_order_relaxed);
    }
    drain();
    const std::lock_guard lock(mutex_);
    std::atomic_ref(active_).store(active_ - 1, std::memory_order_relaxed);
    if (active_ == 0) done_.notify_one();
  }
}

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)) {
  if (threads_ == 1) return;
  workers_ = Workers::for_a_pool();
  workers_->grow(threads_);
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run(std::int64_t n, std::int64_t grain, const void* body, Call call) {
  if (n <= 0) return;
  void* const function = const_cast<void*>(body);
  if (workers_ && n > grain) {
    const Job job{function, call, current_stop()};
    if (workers_->run(n, grain, job, threads_)) return;
  }
  for (std::int64_t first = 0; first < n; first += grain) {
    if (first > 0) check_stop();
    call(function, first, std::min(n, first + grain));
  }
}

}  // namespace ondine
