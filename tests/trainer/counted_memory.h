// Every allocation of this test program is counted, and may be made to fail.
#pragma once

#include <cstddef>

namespace ondine::test {

std::size_t allocations();       // since the program began
std::size_t live_allocations();  // not yet freed
std::size_t live_bytes();        // in them, spare room included

// Allocations that fail: the n-th from now on, alone or with all that follow.
enum class Shortage { once, lasting };

// Makes allocations fail on all threads while it lives.
class FailingAllocation {
 public:
  FailingAllocation(std::size_t n, Shortage shortage);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  // Ends it; whether any allocation failed.
  bool stop();
};

}  // namespace ondine::test
