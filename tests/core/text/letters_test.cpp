#include "core/text/letters.h"

#include <catch2/catch.hpp>

TEST_CASE("letters of ASCII become lower case, all other bytes stay") {
  CHECK(ondine::lower_case("AZaz09[`{@\xc3\x84") == "azaz09[`{@\xc3\x84");
  CHECK(ondine::lower_case("").empty());
}

TEST_CASE("a text is a word whatever the case of its letters") {
  CHECK(ondine::is_word("NaN", "nan"));
  CHECK(ondine::is_word("#N/A", "#n/a"));
  CHECK_FALSE(ondine::is_word("nan ", "nan"));
  CHECK_FALSE(ondine::is_word("na", "nan"));
  CHECK_FALSE(ondine::is_word("", "nan"));
}
