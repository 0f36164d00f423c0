#include <ondine/error.h>

#include <catch2/catch.hpp>

using ondine::Error;
using ondine::ErrorCode;

TEST_CASE("codes have names of their own, and numbers that never change") {
  constexpr const char* names[] = {
      "invalid_model", "unsupported", "mismatch",   "corrupt",   "io",     "limit",
      "cancelled",     "internal",    "not_finite", "not_found", "exists", "invalid_option"};
  for (std::size_t number = 0; number < std::size(names); ++number) {
    CHECK(std::string(to_string(static_cast<ErrorCode>(number))) == names[number]);
  }
}

TEST_CASE("an error lists what encloses it, innermost first, and repeats nothing in a row") {
  Error error(ErrorCode::io, "cannot open");
  error.add_context("model 'a'");
  error.add_context("model 'a'");
  error.add_context("folder 'b'");
  error.add_context("model 'a'");
  CHECK(error.context() == std::vector<std::string>{"model 'a'", "folder 'b'", "model 'a'"});
  CHECK(error.what() ==
        std::string("cannot open\n  in model 'a'\n  in folder 'b'\n  in model 'a'"));
  CHECK(error.message() == "cannot open");
}
