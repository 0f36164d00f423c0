#include "core/system/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <catch2/catch.hpp>

using namespace ondine;

TEST_CASE("blocks of a megabyte and more come as pages of their own") {
  CHECK_FALSE(maps_pages((1 << 20) - 1));
  CHECK(maps_pages(1 << 20));
}

// Sanitizers have allocators of their own, and other libraries cannot tell what is free.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GLIBC_PREREQ(2, 33)
namespace {

// mallinfo2 adds up the arenas of all threads, and a thread can take memory only from its own. Set
// before the first thread starts.
[[maybe_unused]] const int one_arena = mallopt(M_ARENA_MAX, 1);

constexpr std::size_t block = 64 << 10;

// Blocks of the heap, used and then freed; another one after them stays, so that the allocator
// does not give them back by itself.
class FreedBlocks {
 public:
  explicit FreedBlocks(std::size_t count) {
    std::vector<void*> blocks(count);
    for (void*& one : blocks) {
      one = std::malloc(block);
      std::memset(one, 1, block);
      places_.push_back(reinterpret_cast<std::uintptr_t>(one));
    }
    behind_ = std::malloc(block);
    for (void* one : blocks) std::free(one);
  }
  ~FreedBlocks() { std::free(behind_); }
  FreedBlocks(const FreedBlocks&) = delete;
  FreedBlocks& operator=(const FreedBlocks&) = delete;

  std::size_t resident_pages() const {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    constexpr std::uintptr_t head = 64;  // of a free chunk, which the allocator keeps
    std::size_t count = 0;
    for (const std::uintptr_t place : places_) {
      for (auto at = (place + head + page) / page * page; at + page <= place + block; at += page) {
        unsigned char resident = 0;
        if (::mincore(reinterpret_cast<void*>(at), page, &resident) == 0) count += resident & 1U;
      }
    }
    return count;
  }

 private:
  std::vector<std::uintptr_t> places_;
  void* behind_ = nullptr;
};

// Takes what the allocator has free, until that is little.
class TakenMemory {
 public:
  TakenMemory() {
    for (std::size_t size = block; size >= 16; size /= 2) {
      const std::size_t most = (std::size_t{size == block ? 256U : 4U} << 20) / size;
      for (std::size_t i = 0; i < most && mallinfo2().fordblks > (256 << 10); ++i) {
        taken_.push_back(std::malloc(size));
      }
    }
  }
  ~TakenMemory() {
    for (void* one : taken_) std::free(one);
  }
  TakenMemory(const TakenMemory&) = delete;
  TakenMemory& operator=(const TakenMemory&) = delete;

 private:
  std::vector<void*> taken_;
};

}  // namespace

TEST_CASE("freed memory goes back to the system where it is a megabyte or more") {
  const TakenMemory taken;
  const FreedBlocks few(8);
  REQUIRE(mallinfo2().fordblks < (1 << 20));
  const std::size_t kept = few.resident_pages();
  CHECK(kept > 0);
  return_freed_memory();
  CHECK(few.resident_pages() == kept);
  const FreedBlocks more(16);
  REQUIRE(mallinfo2().fordblks >= (1 << 20));
  CHECK(more.resident_pages() > 0);
  return_freed_memory();
  CHECK(few.resident_pages() + more.resident_pages() == 0);
}
#endif
#endif
