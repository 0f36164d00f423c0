// The body of a function of the C API: what it is given, and exceptions as errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/c.h>
#include <ondine/options.h>

#include "bindings/c/handles.h"

namespace ondine::c {

struct ErrorObject {
  int code = ONDINE_INTERNAL;
  std::string reason;
  std::vector<std::string> context;
  std::string message;
};

// The error of the exception that is being handled.
ondine_error* current_error() noexcept;

// Runs the body of a function.
template <class Body>
ondine_error* guard(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

// Throw Error(mismatch) naming the argument that is NULL.
void require(const void* argument, const char* name);
std::string text_in(const char* argument, const char* name);

// A list that ends with NULL.
std::vector<std::string> names_in(const char* const* list);
// Throws Error(invalid_option) for an option without a value.
OptionValues options_in(const ondine_option* list);

// Memory that ondine_free ends.
char* copy_text(std::string_view text);
void* copy_bytes(const void* bytes, std::size_t size);

}  // namespace ondine::c

ONDINE_HANDLE(ondine_error, ondine::c::ErrorObject, error)
