#include "core/budget.h"

#include <new>

#include "core/message.h"
#include "core/out_of_memory.h"

namespace ondine {

void MemoryBudget::charge(std::uint64_t bytes) {
  auto used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) {
      fail(ErrorCode::limit, bytes, " bytes do not fit: ", used, " of ", limit_, " are in use");
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

void* allocate_aligned(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = ::operator new (bytes, std::align_val_t{64}, std::nothrow);
  if (memory == nullptr) fail_out_of_memory(cat("hold ", bytes, " bytes"));
  return memory;
}

void free_aligned(void* memory) noexcept { ::operator delete (memory, std::align_val_t{64}); }

}  // namespace ondine
