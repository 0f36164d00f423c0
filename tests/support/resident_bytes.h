// Memory of this process that is resident now: Linux only, 0 elsewhere.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace ondine::test {

inline std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace ondine::test
