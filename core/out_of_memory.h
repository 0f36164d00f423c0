// Failed allocations, reported as Error(limit).
#pragma once

#include <new>
#include <stdexcept>
#include <string_view>

#include <ondine/error.h>

namespace ondine {

// Throws Error(limit): "the system has no memory left to WHAT", or
// "out of memory" when not even this text can be allocated.
[[noreturn]] void fail_out_of_memory(std::string_view what);

// Whether an error says that the system has no memory left, rather than that a limit was reached.
bool is_out_of_memory(const Error& error) noexcept;

// Runs the body of a public function: std::bad_alloc and std::length_error become
// fail_out_of_memory(what). `what` begins with a verb.
template <class Body>
decltype(auto) guard_memory(std::string_view what, Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(what);
  } catch (const std::length_error&) {
    fail_out_of_memory(what);
  }
}

}  // namespace ondine
