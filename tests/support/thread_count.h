// How many threads the process has, on Linux.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace ondine::test {

inline std::ptrdiff_t listed_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Threads that were joined are still listed for a moment.
inline std::ptrdiff_t thread_count() {
  std::ptrdiff_t count = listed_threads();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::ptrdiff_t again = listed_threads();
    if (again == count) return count;
    count = again;
  }
}

}  // namespace ondine::test
