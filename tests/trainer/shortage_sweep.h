// Calls during which the system runs out of memory, at each of their allocations in turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/trainer/counted_memory.h"

namespace ondine::test {

// How a call ended. It tells nothing by exception: there may be no memory for one.
struct Ending {
  bool refused = false;  // Error(limit)
  bool other = false;    // another exception
  bool failed = false;   // an allocation did
  char text[200] = "";   // of the exception
};

template <class Call>
Ending end_of(const Call& call, std::size_t n, Shortage shortage) {
  Ending ending;
  const auto note = [&](const char* text) {
    std::strncpy(ending.text, text, sizeof ending.text - 1);
  };
  FailingAllocation failing(n, shortage);
  try {
    call();
  } catch (const Error& error) {
    ending.refused = error.code() == ErrorCode::limit && !error.message().empty();
    ending.other = !ending.refused;
    note(error.what());
  } catch (const std::exception& error) {
    ending.other = true;
    note(error.what());
  }
  ending.failed = failing.stop();
  return ending;
}

// Runs prepare(), then call() with its n-th allocation failing, alone and with all later ones,
// then check(refused), for n = 1, 2, 3, ... until nothing fails. The call must end well or with
// Error(limit), and has to end so at least once. Of calls with more than `most` allocations only
// the first and last quarter of `most` are tried one by one, and the others in even steps.
template <class Prepare, class Call, class Check>
void sweep_shortages(const Prepare& prepare, const Call& call, const Check& check,
                     std::size_t most = 8000) {
  prepare();
  const std::size_t before = allocations();
  call();
  const std::size_t total = allocations() - before;
  check(false);
  const std::size_t step = std::max<std::size_t>(1, 2 * total / most);
  std::size_t refusals = 0;
  for (const Shortage shortage : {Shortage::once, Shortage::lasting}) {
    // The two kinds together try twice as many places.
    std::size_t n = shortage == Shortage::once ? 1 : 1 + step / 2;
    for (bool failed = true; failed;) {
      // Before anything is counted: the message takes memory itself.
      INFO("allocation " << n << " of " << total
                         << (shortage == Shortage::once ? "" : " and all later ones"));
      prepare();
      const Ending ending = end_of(call, n, shortage);
      failed = ending.failed;
      if (ending.other || (ending.refused && !failed)) FAIL("not an Error(limit): " << ending.text);
      refusals += ending.refused ? 1 : 0;
      check(ending.refused);
      const bool dense = n <= most / 4 || n + most / 4 >= total;
      n += dense ? 1 : std::min(step, total - most / 4 - n);
    }
  }
  CHECK((total == 0 || refusals > 0));
}

template <class Call, class Check>
void sweep_shortages(const Call& call, const Check& check, std::size_t most = 8000) {
  sweep_shortages([] {}, call, check, most);
}

}  // namespace ondine::test
