#include "core/parallel.h"

#include <atomic>
#include <stdexcept>

#include <catch2/catch.hpp>

using ondine::ThreadPool;

TEST_CASE("every index is visited once for any number of threads") {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::atomic<int>> seen(1000);
      pool.for_chunks(1000, 7, [&](std::int64_t first, std::int64_t last) {
        for (auto i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
      });
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
