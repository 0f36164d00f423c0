#include "core/stop.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include <ondine/error.h>

#include "core/parallel.h"

using namespace ondine;
using std::chrono::steady_clock;

namespace {

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;  // nothing was thrown
}

constexpr ErrorCode none = ErrorCode::internal;

}  // namespace

TEST_CASE("a call is stopped by its flag or by its deadline, and by nothing else") {
  CancelFlag flag = false;
  CHECK(code_of([] { Stop{}.check(); }) == none);
  CHECK(code_of([&] { Stop{&flag, {}}.check(); }) == none);
  CHECK(code_of([&] { Stop{&flag, steady_clock::now() + std::chrono::hours(1)}.check(); }) == none);
  CHECK_THROWS_WITH((Stop{&flag, steady_clock::now() - std::chrono::seconds(1)}.check()),
                    "the call took longer than its deadline");
  flag = true;
  CHECK_THROWS_WITH((Stop{&flag, {}}.check()), "the call was cancelled");
  CHECK(code_of([&] {
          Stop{&flag, steady_clock::now() - std::chrono::seconds(1)}.check();
        }) == ErrorCode::cancelled);
  CHECK(code_of([] {
          Stop{nullptr, steady_clock::now() - std::chrono::seconds(1)}.check();
        }) == ErrorCode::limit);
}

TEST_CASE("of nested scopes the innermost is asked, and the outer one after it has gone") {
  CancelFlag outer = false;
  CancelFlag inner = false;
  CHECK(code_of(check_stop) == none);
  {
    const StopScope first({&outer, {}});
    outer = true;
    {
      const StopScope second({&inner, {}});
      CHECK(code_of(check_stop) == none);
      inner = true;
      CHECK(code_of(check_stop) == ErrorCode::cancelled);
      inner = false;
      outer = false;
    }
    CHECK(code_of(check_stop) == none);
    outer = true;
    CHECK(code_of(check_stop) == ErrorCode::cancelled);
  }
  CHECK(code_of(check_stop) == none);
}

TEST_CASE("a loop on one thread looks at the flag between its chunks") {
  ThreadPool pool(1);
  CancelFlag flag = false;
  const StopScope scope({&flag, {}});
  int chunks = 0;
  const auto stop_in = [&](int wanted) {
    chunks = 0;
    flag = false;
    return code_of([&] {
      pool.for_chunks(10, 2, [&](std::int64_t, std::int64_t) {
        if (++chunks == wanted) flag = true;
      });
    });
  };
  CHECK(stop_in(1) == ErrorCode::cancelled);
  CHECK(chunks == 1);
  CHECK(stop_in(4) == ErrorCode::cancelled);
  CHECK(chunks == 4);
  CHECK(stop_in(5) == none);
  CHECK(chunks == 5);
  // Who asks for a loop has looked at the flag.
  flag = true;
  chunks = 0;
  CHECK(code_of([&] { pool.for_chunks(1, 1, [&](std::int64_t, std::int64_t) { ++chunks; }); }) ==
        none);
  CHECK(chunks == 1);
}

TEST_CASE("a loop on several threads begins no chunk on a thread that is to stop") {
  ThreadPool pool(2);
  CancelFlag flag = true;
  const auto here = std::this_thread::get_id();
  std::atomic<int> chunks_here{0};
  const auto body = [&](std::int64_t, std::int64_t) {
    if (std::this_thread::get_id() == here) ++chunks_here;
    if (chunks_here == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  {
    const StopScope scope({&flag, {}});
    // More chunks than the other thread works off before this one gets a processor.
    CHECK(code_of([&] { pool.for_chunks(1'000'000, 1, body); }) == ErrorCode::cancelled);
  }
  CHECK(chunks_here == 0);
}

TEST_CASE("checkpoints look at the flag after a million operations, whatever each counts") {
  CancelFlag flag = true;
  const StopScope scope({&flag, {}});
  for (const std::int64_t work : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 40}) {
    std::int64_t done = 0;
    CHECK(code_of([&] {
            for (; done < (std::int64_t{1} << 41); done += work) checkpoint(work);
          }) == ErrorCode::cancelled);
    CHECK(done <= (std::int64_t{1} << 20));
  }
}

TEST_CASE("pieces cover a range in order, and stop between") {
  for (const std::int64_t work : {std::int64_t{0}, std::int64_t{3}, std::int64_t{1} << 50}) {
    std::int64_t next = 0;
    for_pieces(1000, work, [&](std::int64_t first, std::int64_t last) {
      CHECK(first == next);
      CHECK(last > first);
      next = last;
    });
    CHECK(next == 1000);
  }
  CancelFlag flag = false;
  const StopScope scope({&flag, {}});
  int pieces = 0;
  CHECK(code_of([&] {
          for_pieces(1000, std::int64_t{1} << 21,
                     [&](std::int64_t, std::int64_t) { flag = ++pieces == 7; });
        }) == ErrorCode::cancelled);
  CHECK(pieces == 7);
}

TEST_CASE("comparisons of many elements stop, those of few are left alone") {
  CancelFlag flag = true;
  const StopScope scope({&flag, {}});
  const auto sorts = [](std::size_t count) {
    std::vector<int> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i * 7919 % count);
    const auto before = [](int a, int b) { return a < b; };
    return code_of([&] {
      sort_checked(static_cast<std::int64_t>(count), before,
                   [&](const auto& less) { std::sort(numbers.begin(), numbers.end(), less); });
    });
  };
  CHECK(sorts(100) == none);
  CHECK(sorts(1'000'000) == ErrorCode::cancelled);
}

TEST_CASE("all threads of a pool stop inside of their chunks, with the caller's flag") {
  ThreadPool pool(3);
  CancelFlag flag = false;
  const StopScope scope({&flag, {}});
  std::atomic<int> stopped{0};
  const auto body = [&](std::int64_t first, std::int64_t) {
    if (first == 0) flag = true;
    try {
      // Each for itself: without the flag this would take centuries.
      for (std::int64_t i = 0; i < (std::int64_t{1} << 62); ++i) checkpoint(1 << 16);
    } catch (const Error&) {
      ++stopped;
      throw;
    }
  };
  CHECK(code_of([&] { pool.for_chunks(3, 1, body); }) == ErrorCode::cancelled);
  CHECK(stopped >= 1);
}
