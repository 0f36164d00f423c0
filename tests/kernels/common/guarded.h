// Elements right before or after memory that nobody may read or write. Loads under masks, which no
// sanitizer sees, end there too.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

namespace ondine::math::test {

enum class Guard { before, after };
inline constexpr Guard both_guards[] = {Guard::before, Guard::after};

template <class T>
class Guarded {
 public:
  Guarded(const std::vector<T>& elements, Guard guard)
      : bytes_((elements.size() * sizeof(T) + page - 1) / page * page) {
    memory_ =
        mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    auto* const start = static_cast<std::byte*>(memory_);
    const bool before = guard == Guard::before;
    REQUIRE(mprotect(before ? start : start + bytes_, page, PROT_NONE) == 0);
    data_ = before ? reinterpret_cast<T*>(start + page)
                   : reinterpret_cast<T*>(start + bytes_) - elements.size();
    std::copy(elements.begin(), elements.end(), data_);
  }
  ~Guarded() { munmap(memory_, bytes_ + page); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() const { return data_; }

 private:
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t bytes_;
  void* memory_;
  T* data_;
};

}  // namespace ondine::math::test
