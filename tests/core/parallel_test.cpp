#include "core/parallel.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using ondine::ThreadPool;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Waits until `done`, at most half a minute.
template <class Done>
bool becomes_true(Done&& done) {
  const auto end = steady_clock::now() + std::chrono::seconds(30);
  while (!done() && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  return done();
}

// Whether `pool` runs as many chunks at once as it has threads.
bool runs_at_once(ThreadPool& pool) {
  const int threads = pool.threads();
  std::atomic<int> begun{0};
  std::atomic<bool> met{true};
  pool.for_chunks(threads, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    if (!becomes_true([&] { return begun == threads; })) met = false;
  });
  return met;
}

}  // namespace

TEST_CASE("every index is visited once for any number of threads") {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::atomic<int>> seen(1000);
      std::atomic<int> wrong{0};
      pool.for_chunks(1000, 7, [&](std::int64_t first, std::int64_t last) {
        if (first % 7 != 0 || last != std::min<std::int64_t>(first + 7, 1000)) ++wrong;
        for (auto i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      REQUIRE(wrong == 0);
      for (const auto& count : seen) REQUIRE(count == 1);
    }
  }
}

TEST_CASE("an exception of a chunk reaches the caller and the pool stays usable") {
  ThreadPool pool(2);
  const auto failing = [](std::int64_t first, std::int64_t) {
    if (first == 5) throw std::runtime_error("five");
  };
  CHECK_THROWS_WITH(pool.for_chunks(10, 1, failing), "five");
  std::atomic<int> sum{0};
  pool.for_chunks(10, 1, [&](std::int64_t first, std::int64_t) { sum += static_cast<int>(first); });
  CHECK(sum == 45);
}

TEST_CASE("a nested loop runs on the thread that asks for it") {
  ThreadPool pool(2);
  std::atomic<int> count{0};
  pool.for_chunks(4, 1, [&](std::int64_t, std::int64_t) {
    pool.for_chunks(8, 1, [&](std::int64_t, std::int64_t) { ++count; });
  });
  CHECK(count == 32);
}

TEST_CASE("no chunk is empty, and there is none for no indices") {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const std::int64_t n : {0, 1, 6, 7, 8, 14, 21, 22}) {
      std::atomic<int> chunks{0};
      std::atomic<int> empty{0};
      pool.for_chunks(n, 7, [&](std::int64_t first, std::int64_t last) {
        ++chunks;
        if (first >= last) ++empty;
      });
      CHECK(chunks == (n + 6) / 7);
      CHECK(empty == 0);
    }
  }
}

TEST_CASE("chunks run on all threads at once, whether those are awake or asleep") {
  for (const int threads : {2, 3}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (int repeat = 0; repeat < 3; ++repeat) CHECK(runs_at_once(pool));
    std::this_thread::sleep_for(milliseconds(60));
    CHECK(runs_at_once(pool));
  }
}

TEST_CASE("a pool that is asleep ends") {
  ThreadPool pool(3);
  std::this_thread::sleep_for(milliseconds(60));
  CHECK(pool.threads() == 3);
}

TEST_CASE("a loop returns when the last chunk of every thread has ended") {
  ThreadPool pool(2);
  const auto here = std::this_thread::get_id();
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    pool.for_chunks(2, 1, [&](std::int64_t, std::int64_t) {
      ++begun;
      becomes_true([&] { return begun == 2; });
      if (std::this_thread::get_id() != here) std::this_thread::sleep_for(milliseconds(40));
      ++ended;
    });
    CHECK(ended == 2);
  }
}

TEST_CASE("no chunk begins after one has failed, and the next loop is whole again") {
  ThreadPool pool(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::atomic<int> chunks{0};
    CHECK_THROWS_WITH(pool.for_chunks(10'000, 1,
                                      [&](std::int64_t first, std::int64_t) {
                                        ++chunks;
                                        if (first == 1) throw std::runtime_error("one");
                                        std::this_thread::sleep_for(milliseconds(1));
                                      }),
                      "one");
    CHECK(chunks < 5000);
    CHECK(runs_at_once(pool));
  }
}

#ifdef __GLIBC__
TEST_CASE("a thread that the system does not start is an error that names it") {
  pthread_attr_t usual;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  pthread_attr_t huge = usual;
  // A stack larger than the address space of a program.
  REQUIRE(pthread_attr_setstacksize(&huge, std::size_t{1} << 56) == 0);
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  CHECK_NOTHROW(ThreadPool(1));
  CHECK_THROWS_WITH(ThreadPool(4), Catch::StartsWith("cannot start thread 2 of 4: "));
  REQUIRE(pthread_setattr_default_np(&usual) == 0);
  ThreadPool pool(2);
  CHECK(runs_at_once(pool));
}
#endif

// Only for tests/system/helgrind.sh, which must find it.
TEST_CASE("chunks that write one number race", "[.race]") {
  ThreadPool pool(2);
  std::int64_t sum = 0;
  pool.for_chunks(100, 1, [&](std::int64_t first, std::int64_t) {
    sum += first;
    std::this_thread::sleep_for(milliseconds(1));
  });
  CHECK(sum <= 4950);
}
