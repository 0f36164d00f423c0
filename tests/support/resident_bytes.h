// Memory of this process that is resident now. 0 where it is not known, and under sanitizers, which
// keep what was freed.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace ondine::test {

inline std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::ifstream("/proc/self/statm") >> total >> resident;
#endif
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace ondine::test
