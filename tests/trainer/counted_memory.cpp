#include "tests/trainer/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> made{0};
std::atomic<std::size_t> freed{0};
std::atomic<std::size_t> bytes_held{0};
std::atomic<std::size_t> first_failure{never};
std::atomic<std::size_t> last_failure{never};
std::atomic<bool> failed{false};

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t number = ++made;
  void* memory = nullptr;
  const bool refused = number >= first_failure && number <= last_failure;
  if (refused) failed = true;
  if (refused || posix_memalign(&memory, alignment, bytes == 0 ? alignment : bytes) != 0) {
    ++freed;
    return nullptr;
  }
  bytes_held += malloc_usable_size(memory);
  return memory;
}

void* require(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    ++freed;
    bytes_held -= malloc_usable_size(memory);
  }
  std::free(memory);
}

std::size_t bytes_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

void* operator new(std::size_t n) { return require(allocate(n, 16)); }
void* operator new(std::size_t n, std::align_val_t a) { return require(allocate(n, bytes_of(a))); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 16); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, bytes_of(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }

namespace ondine::test {

std::size_t allocations() { return made; }
std::size_t live_allocations() { return made - freed; }
std::size_t live_bytes() { return bytes_held; }

FailingAllocation::FailingAllocation(std::size_t n, Shortage shortage) {
  failed = false;
  last_failure = shortage == Shortage::once ? made + n : never;
  first_failure = made + n;
}

FailingAllocation::~FailingAllocation() { stop(); }

bool FailingAllocation::stop() {
  first_failure = never;
  last_failure = never;
  return failed;
}

}  // namespace ondine::test
