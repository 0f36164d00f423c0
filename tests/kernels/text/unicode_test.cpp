#include "kernels/text/unicode.h"

#include <catch2/catch.hpp>

using ondine::kernels::leading_space;

TEST_CASE("white space is that of Unicode") {
  for (const char* space : {"\t", "\n", "\v", "\f", "\r", " ", "\xc2\x85", "\xc2\xa0",
                            "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x8a", "\xe2\x80\xa8",
                            "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"}) {
    INFO(space);
    CHECK(leading_space(std::string(space) + "a") == std::string(space).size());
  }
  for (const char* text :
       {"", "a", "\x08", "\x0e", "\x1f", "!", "\xc2\x84", "\xc2\x86", "\xc2\xa1", "\xe2\x80\x8b",
        "\xe2\x80\xa7", "\xe2\x80\xaa", "\x85", "\xc2", "\xe2\x80", "\xe0\x82\xa0"}) {
    INFO(text);
    CHECK(leading_space(text) == 0);
  }
}
