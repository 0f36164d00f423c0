#include "core/out_of_memory.h"

#include "core/message.h"

namespace ondine {

void fail_out_of_memory(std::string_view what) {
  try {
    throw OutOfMemory(cat("the system has no memory left to ", what));
  } catch (const std::bad_alloc&) {
    // Short enough to lie within the strings themselves.
    throw OutOfMemory("out of memory");
  }
}

}  // namespace ondine
