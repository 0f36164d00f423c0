// Failed allocations, reported as Error(limit).
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <ondine/error.h>

namespace ondine {

// Error(limit) of an allocation that the system refused, rather than of a limit that was reached.
class OutOfMemory final : public Error {
 public:
  explicit OutOfMemory(std::string message) : Error(ErrorCode::limit, std::move(message)) {}
};

// Throws OutOfMemory: "the system has no memory left to WHAT", or
// "out of memory" when not even this text can be allocated.
[[noreturn]] void fail_out_of_memory(std::string_view what);

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
