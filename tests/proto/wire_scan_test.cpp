#include "proto/wire_scan.h"

#include <catch2/catch.hpp>

#include <string>

#include <ondine/error.h>

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

TEST_CASE("a block that reaches beyond its message is refused") {
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

TEST_CASE("each field costs the memory that protobuf takes for it") {
  const std::uint64_t empty = scan(Wire());
  const auto cost = [&](const Wire& wire) { return scan(wire) - empty; };
  const std::uint64_t text = sizeof(std::string) + 16;
  CHECK(cost(Wire().number(1, 8)) == 0);
  CHECK(cost(Wire().block(2, std::string(15, 'x'))) == text);
  CHECK(cost(Wire().block(2, std::string(16, 'x'))) == text + 16 + 16);
  // Unknown fields: their bytes and tags, kept in a string that grows.
  CHECK(cost(Wire().number(1000, 1)) == text + 2 * (10 + 16));
  CHECK(cost(Wire().fixed32(1000, 1)) == text + 2 * (4 + 5 + 16));
  CHECK(cost(Wire().fixed64(1000, 1)) == text + 2 * (8 + 5 + 16));
  CHECK(cost(Wire().block(1000, "abc")) == text + 2 * (3 + 10 + 16));
  const std::uint64_t tensor = cost(Wire().message(7, Wire().message(5, Wire())));
  const auto inside = [&](const Wire& fields) {
    return cost(Wire().message(7, Wire().message(5, fields))) - tensor;
  };
  CHECK(inside(Wire().number(2, 1)) == 0);
  CHECK(inside(Wire().number(1, 300)) == 16);
  CHECK(inside(Wire().number(5, 300)) == 8);
  CHECK(inside(Wire().packed(1, {300, 1})) == 32);
  CHECK(inside(Wire().packed(5, {300, 1})) == 16);
  CHECK(inside(Wire().fixed32(4, 1)) == 8);
  CHECK(inside(Wire().packed_fixed<float>(4, {1, 2})) == 8);
  CHECK(inside(Wire().fixed64(10, 1)) == 16);
  CHECK(inside(Wire().packed_fixed<double>(10, {1, 2})) == 16);
  CHECK(inside(Wire().block(6, "abc")) == text + 2 * sizeof(void*));
}

TEST_CASE("memory and names of exactly the limits are accepted") {
  const Wire wire = Wire().block(2, "0123456789");
  Limits limits;
  limits.name_length = 10;
  limits.parse_bytes = scan(wire);
  CHECK_NOTHROW(scan(wire, limits));
  limits.name_length = 9;
  check_refused(wire, ErrorCode::limit, "ModelProto.producer_name has 10 bytes, more than 9",
                limits);
  limits.name_length = 10;
  limits.parse_bytes -= 1;
  check_refused(wire, ErrorCode::limit, "decoding would take more than", limits);
}

TEST_CASE("a field of a type that it does not have is named") {
  const auto in_tensor = [](const Wire& fields) {
    return Wire().message(7, Wire().message(5, fields));
  };
  const auto check = [&](const Wire& fields, const std::string& why) {
    check_refused(in_tensor(fields), ErrorCode::invalid_model, why);
  };
  check(Wire().number(4, 1), "TensorProto.float_data is a number");
  check(Wire().fixed32(10, 1), "TensorProto.double_data has another type");
  check(Wire().fixed64(4, 1), "TensorProto.float_data has another type");
  check(Wire().block(14, "x"), "TensorProto.data_location has another type");
  check(Wire().number(14, 2), "TensorProto.data_location has the unknown value 2");
  check(Wire().block(10, "1234567"), "TensorProto.double_data ends within a number");
  check(Wire().block(2, "1"), "TensorProto.data_type has another type");
  check(Wire().raw("\x0f"), "an impossible wire type at byte ");
  CHECK_NOTHROW(scan(in_tensor(Wire().number(14, 1))));
  const auto cut = [](std::string_view bytes) { return Wire().raw(bytes); };
  check_refused(cut("\x15\x01\x02\x03"), ErrorCode::invalid_model, "ModelProto.producer_name has");
  check_refused(cut("\xc5\x3e\x01\x02\x03"), ErrorCode::invalid_model,
                "a field of ModelProto has 4 bytes where 3 are left");
  const std::string ten = std::string(9, '\x80') + '\x01';
  CHECK_NOTHROW(scan(cut("\x08" + ten)));
}

TEST_CASE("what is not decoded is called by its message") {
  const auto what = [](MessageId id) -> std::string {
    const Wire wire = Wire().raw("\x0b");
    try {
      scan_wire(wire.bytes(), id, {});
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  CHECK(what(MessageId::model) == "not an ONNX model: a group at byte 1");
  CHECK(what(MessageId::operator_set) == "not an ONNX operator set: a group at byte 1");
  CHECK(what(MessageId::tensor) == "not a TensorProto: a group at byte 1");
}
