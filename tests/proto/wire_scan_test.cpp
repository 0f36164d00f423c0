#include "proto/wire_scan.h"

#include <catch2/catch.hpp>

#include <string>

#include <ondine/error.h>

#include "proto/utf8.h"
#include "tests/proto/wire.h"

using namespace ondine;
using test::Wire;

namespace {

std::uint64_t scan(const Wire& wire, const Limits& limits = {}) {
  return scan_wire(wire.bytes(), MessageId::model, limits);
}

void check_refused(const Wire& wire, ErrorCode code, const std::string& why,
                   const Limits& limits = {}) {
  try {
    scan(wire, limits);
    FAIL_CHECK("accepted: " << why);
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.code() == code);
    CHECK(error.message().find(why) != std::string::npos);
  }
}

// A model whose main graph has If nodes in If nodes; three messages a level.
Wire nested_model(int levels, Wire graph = {}) {
  for (int i = 0; i < levels; ++i) {
    const Wire attribute = Wire().message(6, graph);
    graph = Wire().message(1, Wire().message(5, attribute));
  }
  return Wire().message(7, graph);
}

}  // namespace

TEST_CASE("bytes that are not a message are refused, naming the location") {
  check_refused(Wire().raw("\x08"), ErrorCode::invalid_model, "ends within a number");
  check_refused(Wire().raw("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                ErrorCode::invalid_model, "longer than ten bytes");
  check_refused(Wire().raw(std::string_view("\x00\x01", 2)), ErrorCode::invalid_model,
                "field number 0");
  check_refused(Wire().raw("\x3a\x05"), ErrorCode::invalid_model,
                "ModelProto.graph has 5 bytes where 0 are left");
  check_refused(Wire().raw("\x0e"), ErrorCode::invalid_model, "wire type");
  check_refused(Wire().number(7, 3), ErrorCode::invalid_model, "ModelProto.graph is a number");
  check_refused(Wire().block(1, "text"), ErrorCode::invalid_model, "another type");
  check_refused(Wire().fixed32(3, 1.0F), ErrorCode::invalid_model, "another type");
}

TEST_CASE("groups are refused, known and unknown") {
  check_refused(Wire().raw("\x0b\x0c"), ErrorCode::invalid_model, "a group");
  check_refused(Wire().raw("\xdb\x06\xdc\x06"), ErrorCode::invalid_model, "a group");
}

TEST_CASE("a block that reaches behind its message is refused") {
  // The graph has four bytes; its name claims ten, which the model still has.
  const Wire wire = Wire()
                        .block(7,
                               "\x12\x0a"
                               "ab")
                        .block(6, "0123456789");
  check_refused(wire, ErrorCode::invalid_model, "GraphProto.name has 10 bytes where 2 are left");
}

TEST_CASE("text that is not UTF-8 is refused, bytes may be anything") {
  check_refused(Wire().message(7, Wire().block(2, "a\xc0\xaf")), ErrorCode::invalid_model,
                "GraphProto.name is not UTF-8");
  const Wire node = Wire().message(5, Wire().block(4, "a\xc0\xaf"));
  CHECK_NOTHROW(scan(Wire().message(7, Wire().message(1, node))));
}

TEST_CASE("enumerators that the standard does not have are refused") {
  const Wire attribute = Wire().number(20, 15);
  check_refused(Wire().message(7, Wire().message(1, Wire().message(5, attribute))),
                ErrorCode::invalid_model, "AttributeProto.type has the unknown value 15");
}

TEST_CASE("unknown fields are skipped") {
  CHECK_NOTHROW(scan(Wire().number(1000, 7).block(1001, "\xff\xff").fixed32(1002, 1.0F)));
}

TEST_CASE("field numbers are below 2^29") {
  CHECK_NOTHROW(scan(Wire().number((1U << 29) - 1, 7)));
  // The tag of field 2^29: a one followed by 32 zero bits.
  check_refused(Wire().raw(std::string_view("\x80\x80\x80\x80\x10\x07", 6)),
                ErrorCode::invalid_model, "field number 536870912");
}

TEST_CASE("nesting is bounded") {
  CHECK_NOTHROW(scan(nested_model(33)));  // 100 messages below the model
  check_refused(nested_model(33, Wire().message(1, Wire())), ErrorCode::limit, "deeper than 100");
  check_refused(nested_model(34), ErrorCode::limit, "deeper than 100");
  Limits limits;
  limits.message_depth = 1'000'000;
  check_refused(nested_model(5000), ErrorCode::limit, "deeper than 1000", limits);
}

TEST_CASE("names are bounded, documentation is not") {
  Limits limits;
  limits.name_length = 10;
  const std::string text(11, 'x');
  CHECK_NOTHROW(scan(Wire().block(6, text), limits));
  check_refused(Wire().block(2, text), ErrorCode::limit, "ModelProto.producer_name has 11 bytes",
                limits);
}

TEST_CASE("the memory that parsing takes is estimated, not the bytes of the file") {
  Wire graph;
  for (int i = 0; i < 50'000; ++i) graph.block(1, "");
  const Wire model = Wire().message(7, graph);
  CHECK(model.text().size() < 110'000);
  CHECK(scan(model) > 10'000'000);
  Limits limits;
  limits.parse_bytes = 1'000'000;
  check_refused(model, ErrorCode::limit, "more than 1000000 bytes", limits);
}

TEST_CASE("a file of nearly empty messages is refused before it is parsed") {
  Wire graph;
  for (int i = 0; i < 400'000; ++i) graph.block(1, "");
  check_refused(Wire().message(7, graph), ErrorCode::limit, "nearly empty");
}

TEST_CASE("packed numbers count with their size in memory") {
  const Wire tensor = Wire().block(7, std::string(100'000, '\1'));  // int64_data
  CHECK(scan(Wire().message(7, Wire().message(5, tensor))) >= 800'000);
  check_refused(Wire().message(7, Wire().message(5, Wire().block(4, "12345"))),
                ErrorCode::invalid_model, "TensorProto.float_data ends within a number");
}

TEST_CASE("UTF-8 has one form for each character and no surrogates") {
  CHECK(is_utf8("plain"));
  CHECK(is_utf8("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8c\x8a \xf4\x8f\xbf\xbf \xed\x9f\xbf"));
  for (const auto* text : {"\x80", "\xc1\x81", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
    CHECK_FALSE(is_utf8(text));
  }
}
