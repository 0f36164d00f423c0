#include "core/budget.h"

#include <cstdlib>
#include <limits>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "core/message.h"

namespace ondine {

void MemoryBudget::charge(std::uint64_t bytes) {
  auto used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) {
      fail(ErrorCode::limit, bytes, " bytes do not fit: ", used, " of ", limit_, " are in use");
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

namespace {

constexpr std::size_t small_page = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

// Large blocks are laid on huge pages where the system has them: fewer misses of the page table.
bool wants_huge_pages(std::size_t bytes) { return bytes >= 8 * huge_page; }

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t alignment = wants_huge_pages(bytes) ? huge_page : small_page;
  void* memory = nullptr;
  if (bytes <= std::numeric_limits<std::size_t>::max() - alignment) {
    memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  if (memory == nullptr) fail(ErrorCode::limit, "the system has no ", bytes, " bytes left");
#ifdef MADV_HUGEPAGE
  // Of whole pages only, so that no more becomes resident than is used. Only a hint: may fail.
  if (alignment == huge_page) madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_aligned(void* memory) noexcept { std::free(memory); }

}  // namespace ondine
