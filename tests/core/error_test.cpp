#include <ondine/error.h>

#include <catch2/catch.hpp>

using ondine::Error;
using ondine::ErrorCode;

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
