#include <catch2/catch.hpp>
#include <string>

#include <ondine/error.h>

#include "core/text/base64.h"

using namespace ondine;
using namespace ondine;

TEST_CASE("base64 pads as the examples of RFC 4648 do, and reads them back") {
  for (const auto& [bytes, text] : {std::pair("", ""),
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"},
                                    {"\xff\xef\xbe", "/+++"}}) {
    CHECK(to_base64(std::string_view(bytes)) == text);
    CHECK(from_base64(text) == bytes);
  }
}

TEST_CASE("every byte at every place survives base64") {
  for (int value = 0; value < 256; ++value) {
    for (std::size_t at = 0; at < 3; ++at) {
      std::string bytes(5, 'x');
      bytes[at] = static_cast<char>(value);
      CHECK(from_base64(to_base64(bytes)) == bytes);
    }
  }
}

TEST_CASE("what base64 does not write is refused") {
  for (const char* text : {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v!mFy", "Zm=v",
                           "Zh==", "Zm9=", "Zm9v\n", "Zm9vYmE=\xff"}) {
    INFO(text);
    CHECK_THROWS_AS(from_base64(text), Error);
  }
}
