#include "core/system/pages.h"

#include <sys/mman.h>

#include "core/message.h"
#include "core/out_of_memory.h"

namespace ondine {

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

}  // namespace ondine
