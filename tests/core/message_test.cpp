#include "core/message.h"

#include <catch2/catch.hpp>

using namespace ondine;

namespace {
std::string shown(std::string_view text) { return ondine::quoted(text); }
}  // namespace

TEST_CASE("a message is put together from texts, numbers, dtypes and shapes") {
  CHECK(cat("a ", std::string("b"), ' ', -3, " ", std::uint64_t{1} << 63, " ", DType::float16, " ",
            Shape{2, 0}) == "a b -3 9223372036854775808 float16 [2, 0]");
  // The fewest digits that give the number back.
  CHECK(cat(0.1, " ", 1.0, " ", -2.5e-300, " ", 1e22) == "0.1 1 -2.5e-300 1e+22");
}

TEST_CASE("quoted text shows control characters, quotes and backslashes as codes") {
  CHECK(shown("") == "''");
  CHECK(shown("plain text ~!") == "'plain text ~!'");
  CHECK(shown(std::string("\0\x1f\x20\x7e\x7f\n", 6)) == "'\\x00\\x1f ~\\x7f\\x0a'");
  CHECK(shown("it's a \\") == "'it\\x27s a \\x5c'");
  CHECK(shown("\xc3\xa9") == "'\xc3\xa9'");  // UTF-8 stays
}

TEST_CASE("quoted text is cut after 120 bytes and says how long it was") {
  const std::string whole(120, 'x');
  CHECK(shown(whole) == "'" + whole + "'");
  CHECK(shown(whole + "y") == "'" + whole + "...(121 bytes)'");
  CHECK(shown(std::string(5000, 'x')) == "'" + whole + "...(5000 bytes)'");
}
