// Batches where the system gives no thread that could make them ahead of time.
#include "trainer/data/batch_reader.h"

#include <catch2/catch.hpp>

#ifdef __linux__
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#endif

#include "tests/support/port.h"
#include "tests/support/thread_count.h"

using namespace ondine;
using namespace ondine::data;

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

// While it lives, the process has one more MiB of address space, and a new thread needs a larger
// stack than those that ended threads have left behind.
class NoThreads {
 public:
  NoThreads() {
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    REQUIRE(::getrlimit(RLIMIT_AS, &before_) == 0);
    const auto page = static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    const rlimit bound{pages * page + (rlim_t{1} << 20), before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_AS, &bound) == 0);
    ::pthread_getattr_default_np(&usual_);
    pthread_attr_t large;
    ::pthread_getattr_default_np(&large);
    ::pthread_attr_setstacksize(&large, std::size_t{64} << 20);
    ::pthread_setattr_default_np(&large);
    ::pthread_attr_destroy(&large);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&usual_);
    ::pthread_attr_destroy(&usual_);
    ::setrlimit(RLIMIT_AS, &before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  rlimit before_{};
  pthread_attr_t usual_{};
};

}  // namespace

TEST_CASE("without threads the caller makes the batches, with the same rows") {
  constexpr std::uint64_t stored = 29;
  Tensor x(DType::float32, {stored, 1, 2, 2});
  for (std::size_t i = 0; i < 4 * stored; ++i) {
    x.mutable_values<float>()[i] = static_cast<float>(i);
  }
  const std::vector<PortInfo> inputs{test::port("x", DType::float32, {std::int64_t{-1}, 1, 2, 2})};
  Feeder feeder(inputs, {{"x", x}});
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 1; i <= stored; ++i) rows.push_back(i % stored);
  const std::vector<std::string> names{"x"};
  const Augmenter none({}, 1, BatchReader::sources_of(feeder), names, rows);
  const std::ptrdiff_t before = test::thread_count();
  std::thread([] {}).join();
  std::optional<BatchReader> reader;
  {
    const NoThreads bound;
    reader.emplace(feeder, BatchOrder{rows, 12}, &none);
  }
  REQUIRE(test::thread_count() == before);
  CHECK(reader->batches() == 3);
  REQUIRE(reader->waited().has_value());
  for (std::size_t first = 0; first < stored; first += 12) {
    const Tensor& batch = reader->next()[0].second.tensor();
    const std::size_t count = std::min<std::size_t>(12, stored - first);
    REQUIRE(batch.shape() == Shape{static_cast<std::int64_t>(count), 1, 2, 2});
    for (std::size_t i = 0; i < 4 * count; ++i) {
      CHECK(batch.values<float>()[i] == static_cast<float>(4 * rows[first + i / 4] + i % 4));
    }
  }
  CHECK(*reader->waited() > 0);
  CHECK_THROWS_WITH(reader->next(), Catch::Contains("no more batches"));
}

#endif
