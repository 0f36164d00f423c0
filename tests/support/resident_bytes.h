// Memory of this process that is resident now. 0 where it is not known, and under sanitizers, which
// keep what was freed.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace ondine::test {

inline std::size_t resident_bytes() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;) {
    std::size_t kilobytes = 0;
    if (word == "Rss:" && rollup >> kilobytes) return kilobytes << 10;
  }
  // Some kernels sum up counters here that lag by half a megabyte for each processor.
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
#else
  return 0;
#endif
}

}  // namespace ondine::test
