#include "core/out_of_memory.h"

#include "core/message.h"

namespace ondine {

void fail_out_of_memory(std::string_view what) {
  try {
    fail(ErrorCode::limit, "the system has no memory left to ", what);
  } catch (const std::bad_alloc&) {
    // Short enough to lie within the strings themselves.
    throw Error(ErrorCode::limit, "out of memory");
  }
}

bool is_out_of_memory(const Error& error) noexcept {
  const std::string_view message = error.message();
  return message.starts_with("the system has no ") || message.starts_with("out of memory");
}

}  // namespace ondine
