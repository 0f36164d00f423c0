#include "core/system/pages.h"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)
#define ONDINE_HAS_MALLINFO2
#endif
#endif

namespace ondine {
namespace {

constexpr std::size_t least = std::size_t{1} << 20;
[[maybe_unused]] constexpr std::size_t much_freed = std::size_t{1} << 20;

}  // namespace

bool maps_pages(std::size_t bytes) noexcept { return bytes >= least; }

void return_freed_memory() noexcept {
#ifdef ONDINE_HAS_MALLINFO2
  if (mallinfo2().fordblks >= much_freed) malloc_trim(0);
#endif
}

}  // namespace ondine
