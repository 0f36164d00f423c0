#include "trainer/data/text/json_lines.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

using namespace ondine;
using data::JsonMember;

namespace {

// "LINE key=text KEY..." of every line: texts in quotes, other values as they are, nested ones as
// brackets.
std::string read(const std::string& text) {
  static const std::vector<std::string> keys{"a", "b", "c", "d", "h", "n", "k\"\\/\b\f\n\r\t"};
  std::string out;
  data::parse_json_lines(text, keys,
                         [&](const std::vector<JsonMember>& members, std::uint64_t line) {
                           out += std::to_string(line);
                           for (const JsonMember& one : members) {
                             out += " " + one.key + "=";
                             if (one.kind == JsonMember::Kind::text) out += "\"" + one.value + "\"";
                             if (one.kind == JsonMember::Kind::other) out += one.value;
                             if (one.kind == JsonMember::Kind::nested) out += "[]";
                           }
                           out += ";";
                         });
  return out;
}

void refuse(const std::string& text, const std::string& message) {
  INFO(text);
  try {
    read(text);
    FAIL_CHECK("was read");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt);
    CHECK(std::string(error.what()) == message);
  }
}

std::string nested(std::size_t levels) {
  return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
}

}  // namespace

TEST_CASE("members of each line are texts, other values as written, and nested ones") {
  CHECK(read("").empty());
  CHECK(read("{}") == "1;");
  CHECK(read("\n \t\r\n{\"a\":1}\n\n{\"b\":\"x\"}\r\n") == "3 a=1;5 b=\"x\";");
  CHECK(read("{\"a\":true}\r{\"b\":1}\r\r\n{\"c\":2}\n") == "1 a=true;2 b=1;4 c=2;");
  CHECK(read(" { \"a\" : false , \"b\" :\tnull , \"c\" : \"\" } ") == "1 a=false b=null c=\"\";");
  for (const char* number :
       {"0", "-0", "10", "-7", "907", "0.5", "-0.25", "1e5", "1E-5", "0e+10", "12.75e03"}) {
    CHECK(read(std::string("{\"n\":") + number + "}") == std::string("1 n=") + number + ";");
  }
  CHECK(read(R"({"a":[],"b":{},"c":[1,[2,{"x":[]}],"]"],"d":{"e":{"f":"}"},"g":1},"h":2})") ==
        "1 a=[] b=[] c=[] d=[] h=2;");
}

TEST_CASE("only members with one of the keys are kept, and each key stands once in a line") {
  CHECK(read(R"({"x":1,"a":2,"y":{"a":3},"x":4})") == "1 a=2;");
  refuse(R"({"a":2,"a":3})", "line 1 has 'a' twice");
}

TEST_CASE("NaN and infinities are values, as Python writes them") {
  CHECK(read(R"({"a":NaN,"b":Infinity,"c":-Infinity,"x":[NaN]})") ==
        "1 a=NaN b=Infinity c=-Infinity;");
  refuse(R"({"a":nan})", "line 1, byte 6: not JSON, a value expected");
  refuse(R"({"a":-NaN})", "line 1, byte 7: not JSON, a value expected");
}

TEST_CASE("escapes of texts and keys become their characters, in UTF-8") {
  CHECK(read(R"({"k\"\\\/\b\f\n\r\t":"\u0041"})") == "1 k\"\\/\b\f\n\r\t=\"A\";");
  CHECK(read(R"({"a":"\u007f\u0080\u07ff\u0800\uFFFF"})") ==
        "1 a=\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\";");
  CHECK(read(R"({"a":"\ud7ff\ue000"})") == "1 a=\"\xed\x9f\xbf\xee\x80\x80\";");
  CHECK(read(R"({"a":"\uD800\uDC00\udbff\udfffz"})") ==
        "1 a=\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbfz\";");
  CHECK(read("{\"a\":\"\x7f\xc3\xa9 '\"}") == "1 a=\"\x7f\xc3\xa9 '\";");
}

TEST_CASE("what is no JSON is refused with its line, its byte and what is wrong") {
  refuse("{}\n[1]", "line 2: not a JSON object");
  refuse("7", "line 1: not a JSON object");
  const auto wrong = [](const std::string& text, std::size_t byte, const std::string& what) {
    refuse("{}\n" + text, "line 2, byte " + std::to_string(byte) + ": not JSON, " + what);
  };
  wrong("{} {}", 4, "text follows the object");
  wrong("{1:2}", 2, "a key expected");
  wrong("{\"a\":1,}", 8, "a key expected");
  wrong("{\"a\" 1}", 6, "':' expected");
  wrong("{\"a\":1 \"b\":2}", 8, "',' or '}' expected");
  wrong("{\"a\":1", 7, "',' or '}' expected");
  wrong("{\"a\":[1 2]}", 9, "',' or ']' expected");
  wrong("{\"a\":[", 7, "a value expected");
  wrong("{\"a\":}", 6, "a value expected");
  wrong("{\"a\":+1}", 6, "a value expected");
  wrong("{\"a\":-}", 7, "a value expected");
  wrong("{\"a\":.5}", 6, "a value expected");
  wrong("{\"a\":1.}", 8, "a value expected");
  wrong("{\"a\":1e}", 8, "a value expected");
  wrong("{\"a\":1e+}", 9, "a value expected");
  wrong("{\"a\":01}", 7, "',' or '}' expected");
  wrong("{\"a\":truth}", 6, "a value expected");
  wrong("{\"a\":\"\x1f\"}", 7, "a control character in a text");
  wrong("{\"a\":\"b", 8, "a text has no end");
  wrong("{\"a\":\"\\", 8, "an unknown escape");
  wrong("{\"a\":\"\\x\"}", 8, "an unknown escape");
  wrong("{\"a\":\"\\u12g4\"}", 11, "four hexadecimal digits expected");
  wrong("{\"a\":\"\\u12:4\"}", 11, "four hexadecimal digits expected");
  wrong("{\"a\":\"\\u12/4\"}", 11, "four hexadecimal digits expected");
  wrong("{\"a\":\"\\u12`4\"}", 11, "four hexadecimal digits expected");
  wrong("{\"a\":\"\\ud800\"}", 12, "half of a surrogate pair");
  wrong("{\"a\":\"\\udc00\"}", 12, "half of a surrogate pair");
  wrong("{\"a\":\"\\udfff\"}", 12, "half of a surrogate pair");
  wrong("{\"a\":\"\\ud800\\u0041\"}", 18, "half of a surrogate pair");
  wrong("{\"a\":\"\\udbff\\ue000\"}", 18, "half of a surrogate pair");
}

TEST_CASE("arrays and objects are nested at most a hundred deep") {
  CHECK(read(nested(100)) == "1 a=[];");
  CHECK(read(nested(100) + "\n" + nested(100)) == "1 a=[];2 a=[];");
  refuse(nested(101), "line 1, byte 106: not JSON, too deep");
}

TEST_CASE("a nested value is kept as it is written") {
  const std::vector<std::string> keys{"a", "b"};
  std::string values;
  data::parse_json_lines(R"({"a": [1, {"b": "x\n"}], "b" : {"a":[ ]} , "c": {}})", keys,
                         [&](const std::vector<JsonMember>& members, std::uint64_t) {
                           for (const JsonMember& one : members) values += one.value + ";";
                         });
  CHECK(values == R"([1, {"b": "x\n"}];{"a":[ ]};)");
}
