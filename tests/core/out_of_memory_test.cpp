#include "core/out_of_memory.h"

#include <limits>
#include <new>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "core/message.h"
#include "core/system/pages.h"

namespace ondine {
namespace {

template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const OutOfMemory& error) {
    CHECK(error.code() == ErrorCode::limit);
    return error.what();
  }
  return "";
}

TEST_CASE("A refused allocation becomes OutOfMemory and says what it was for") {
  const std::string expected = "the system has no memory left to read the model";
  CHECK(message_of([] { guard_memory("read the model", [] { throw std::bad_alloc(); }); }) ==
        expected);
  CHECK(message_of([] {
          guard_memory("read the model", [] { throw std::length_error("vector"); });
        }) == expected);
}

TEST_CASE("Context does not turn OutOfMemory into another error") {
  const std::string text = message_of([] {
    with_context([] { fail_out_of_memory("sort"); }, [] { return std::string("node 'top'"); });
  });
  CHECK(text == "the system has no memory left to sort\n  in node 'top'");
}

TEST_CASE("A limit that is reached is not OutOfMemory") {
  try {
    guard_memory("sort", [] { fail(ErrorCode::limit, "too many nodes"); });
    FAIL("no error");
  } catch (const OutOfMemory&) {
    FAIL("OutOfMemory");
  } catch (const Error& error) {
    CHECK(error.message() == "too many nodes");
  }
}

TEST_CASE("Pages that the system refuses are OutOfMemory") {
  const std::size_t bytes = std::numeric_limits<std::size_t>::max() / 4;
  CHECK(message_of([&] { map_pages(bytes); }) ==
        "the system has no memory left to map " + std::to_string(bytes) + " bytes");
}

}  // namespace
}  // namespace ondine
