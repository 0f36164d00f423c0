#include <cerrno>

#include "core/secure/ask_system.h"

#if defined(__linux__)
#include <sys/syscall.h>
#elif __has_include(<sys/random.h>)
#include <sys/random.h>
#endif
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace ondine {

bool ask_system([[maybe_unused]] std::span<std::byte> bytes) noexcept {
#if defined(__linux__)
  while (!bytes.empty()) {
    // The C library of glibc 2.17 has no getrandom.
    const long filled = ::syscall(SYS_getrandom, bytes.data(), bytes.size(), 0);
    if (filled < 0 && errno == EINTR) continue;
    if (filled <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(filled));
  }
  return true;
#elif defined(__APPLE__) || defined(__EMSCRIPTEN__) || defined(__FreeBSD__) || defined(__OpenBSD__)
  return ::getentropy(bytes.data(), bytes.size()) == 0;
#else
  return false;
#endif
}

}  // namespace ondine
