#include "core/pages.h"

#include <sys/mman.h>

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)
#define ONDINE_HAS_MALLINFO2
#endif
#endif

#include "core/message.h"
#include "core/out_of_memory.h"

namespace ondine {
namespace {

constexpr std::size_t least = std::size_t{1} << 20;
[[maybe_unused]] constexpr std::size_t much_freed = std::size_t{1} << 20;

}  // namespace

bool maps_pages(std::size_t bytes) noexcept { return bytes >= least; }

void* map_pages(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_out_of_memory(cat("map ", bytes, " bytes"));
#ifdef MADV_HUGEPAGE
  // Fewer misses of the page table: a hint. Blocks that lie side by side share huge pages.
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void unmap_pages(void* memory, std::size_t bytes) noexcept { munmap(memory, bytes); }

void drop_pages(void* memory, std::size_t bytes) noexcept { madvise(memory, bytes, MADV_DONTNEED); }

void return_freed_memory() noexcept {
#ifdef ONDINE_HAS_MALLINFO2
  if (mallinfo2().fordblks >= much_freed) malloc_trim(0);
#endif
}

}  // namespace ondine
