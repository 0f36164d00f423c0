#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/system/pages.h"
#include "core/system/windows.h"

namespace ondine {

void* map_pages(std::size_t bytes) {
  void* memory = ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (memory == nullptr) fail_out_of_memory(cat("map ", bytes, " bytes"));
  return memory;
}

void unmap_pages(void* memory, std::size_t) noexcept { ::VirtualFree(memory, 0, MEM_RELEASE); }

void drop_pages(void* memory, std::size_t bytes) noexcept {
  ::VirtualAlloc(memory, bytes, MEM_RESET, PAGE_READWRITE);
}

}  // namespace ondine
