// TensorProto: every element type in every field that may hold it, from bytes made by hand.
#include <catch2/catch.hpp>

#include <algorithm>
#include <span>

#include <ondine/error.h>

#include "core/byte_order.h"
#include "proto/value.h"
#include "tests/proto/wire.h"

using namespace ondine;
using test::Wire;

namespace {

Wire header(DType dtype, std::initializer_list<std::int64_t> dims) {
  Wire out;
  for (const auto extent : dims) out.number(1, static_cast<std::uint64_t>(extent));
  out.number(2, static_cast<std::uint64_t>(dtype));
  out.block(8, "culprit");
  return out;
}

// The elements in memory, as a little-endian machine has them.
std::string memory(const Tensor& tensor) {
  std::string bytes(static_cast<const char*>(tensor.data()), tensor.bytes());
  if (other_byte_order) swap_numbers(std::as_writable_bytes(std::span(bytes)), tensor.dtype());
  return bytes;
}

using namespace std::string_literals;

struct Encoding {
  DType dtype;
  std::int64_t count;
  std::string raw;     // as in a file
  std::string stored;  // as in memory
  Wire typed;          // the same in the typed field
};

Wire int32_data(std::initializer_list<std::int64_t> values) { return Wire().packed(5, values); }

std::vector<Encoding> encodings() {
  const std::string floats = "\x00\x00\x80\x3f\x00\x00\x00\xc0"s;  // 1, -2
  const std::string doubles = "\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0"s;
  const std::string halves = "\x00\x3c\x00\xc0"s;
  const std::string large = "\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00\x80"s;
  const std::string byte_pair = "\x7f\x80"s;
  std::vector<Encoding> out{
      {DType::float32, 2, floats, floats, Wire().packed_fixed<float>(4, {1, -2})},
      {DType::complex64, 1, floats, floats, Wire().packed_fixed<float>(4, {1, -2})},
      {DType::float64, 2, doubles, doubles, Wire().packed_fixed<double>(10, {1, -2})},
      {DType::complex128, 1, doubles, doubles, Wire().packed_fixed<double>(10, {1, -2})},
      {DType::int64, 2, large, large, Wire().packed(7, {-1, INT64_MIN + 1})},
      {DType::uint64, 2, large, large, Wire().packed(11, {-1, INT64_MIN + 1})},
      {DType::uint32, 2, "\xff\xff\xff\xff\x01\x00\x00\x80"s, "\xff\xff\xff\xff\x01\x00\x00\x80"s,
       Wire().packed(11, {0xffffffff, 0x80000001})},
      {DType::int32, 2, "\xff\xff\xff\xff\x01\x00\x00\x80"s, "\xff\xff\xff\xff\x01\x00\x00\x80"s,
       int32_data({-1, INT32_MIN + 1})},
      {DType::int16, 2, "\xff\xff\x00\x80"s, "\xff\xff\x00\x80"s, int32_data({-1, -32768})},
      {DType::uint16, 2, "\xff\xff\x00\x80"s, "\xff\xff\x00\x80"s, int32_data({65535, 32768})},
      {DType::int8, 2, byte_pair, byte_pair, int32_data({127, -128})},
      {DType::uint8, 2, byte_pair, byte_pair, int32_data({127, 128})},
      {DType::boolean, 3, "\x00\x01\x07"s, "\x00\x01\x01"s, int32_data({0, 1, -1})},
      {DType::float16, 2, halves, halves, int32_data({0x3c00, 0xc000})},
      {DType::bfloat16, 2, "\x80\x3f\x00\xc0"s, "\x80\x3f\x00\xc0"s, int32_data({0x3f80, 0xc000})},
      // 4-bit: low half first; the upper half of the last byte is padding.
      {DType::int4, 3, "\x81\xff"s, "\x01\xf8\xff"s, int32_data({0x81, 0x0f})},
      {DType::uint4, 3, "\x81\x0f"s, "\x01\x08\x0f"s, int32_data({0x81, 0x0f})},
      {DType::float4e2m1, 3, "\x81\x0f"s, "\x01\x08\x0f"s, int32_data({0x81, 0x0f})},
      {DType::int2, 5, "\xe4\x02"s, "\x00\x01\xfe\xff\xfe"s, int32_data({0xe4, 2})},
      {DType::uint2, 5, "\xe4\x02"s, "\x00\x01\x02\x03\x02"s, int32_data({0xe4, 2})},
  };
  for (const DType dtype : {DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2,
                            DType::float8e5m2fnuz, DType::float8e8m0}) {
    out.push_back({dtype, 2, byte_pair, byte_pair, int32_data({127, 128})});
  }
  return out;
}

Tensor load(const Wire& wire, const Limits& limits = {}) {
  auto [name, tensor] = load_named_tensor(wire.bytes(), limits);
  CHECK(name == "culprit");
  return tensor;
}

void check_refused(const Wire& wire, const std::string& why, const Limits& limits = {}) {
  try {
    load_named_tensor(wire.bytes(), limits);
    FAIL_CHECK("accepted: " << why);
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.message().find(why) != std::string::npos);
    CHECK(std::string(error.what()).find("culprit") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("raw data and typed fields of every element type give the same elements") {
  for (const auto& encoding : encodings()) {
    INFO(to_string(encoding.dtype));
    Wire raw = header(encoding.dtype, {encoding.count});
    raw.block(9, encoding.raw);
    const Tensor from_raw = load(raw);
    CHECK(from_raw.dtype() == encoding.dtype);
    CHECK(from_raw.shape() == Shape{encoding.count});
    CHECK(memory(from_raw) == encoding.stored);
    Wire typed = header(encoding.dtype, {encoding.count});
    typed.raw(encoding.typed.text());
    CHECK(memory(load(typed)) == encoding.stored);
  }
}

TEST_CASE("the table of encodings has every element type but strings") {
  std::vector<bool> seen(dtype_count);
  for (const auto& encoding : encodings()) seen[static_cast<std::size_t>(encoding.dtype)] = true;
  CHECK(std::count(seen.begin(), seen.end(), true) == dtype_count - 2);
}

TEST_CASE("numbers may be written one by one instead of packed") {
  Wire wire = header(DType::int64, {2});
  wire.number(7, 5).number(7, 6);
  CHECK(load(wire).item<std::int64_t>(1) == 6);
  Wire floats = header(DType::float32, {2});
  floats.fixed32(4, 1.5F).fixed32(4, 2.5F);
  CHECK(load(floats).item<float>(1) == 2.5F);
}

TEST_CASE("strings may hold any bytes") {
  Wire wire = header(DType::string, {2});
  wire.block(6, "a\xff").block(6, "");
  const Tensor tensor = load(wire);
  CHECK(tensor.values<std::string>()[0] == "a\xff");
  CHECK(tensor.values<std::string>()[1].empty());
}

TEST_CASE("large raw data is used where it is, small and large are aligned") {
  for (const std::size_t count : {1U, 3U, 1000U}) {
    Wire wire = header(DType::float64, {static_cast<std::int64_t>(count)});
    wire.block(9, std::string(count * 8, '\1'));
    const Tensor tensor = load(wire);
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % alignof(double) == 0);
    CHECK(memory(tensor) == std::string(count * 8, '\1'));
  }
}

TEST_CASE("a tensor without elements has no data, one without dimensions has one element") {
  CHECK(load(header(DType::float32, {0, 3})).size() == 0);
  CHECK(load(header(DType::string, {0})).size() == 0);
  Wire scalar = header(DType::uint8, {});
  scalar.block(9, "x");
  CHECK(load(scalar).item<std::uint8_t>() == 'x');
  check_refused(header(DType::float32, {}), "needs data");
}

TEST_CASE("data that does not fit the shape exactly is refused") {
  for (const auto& encoding : encodings()) {
    INFO(to_string(encoding.dtype));
    for (const std::string& raw : {encoding.raw + "x", encoding.raw.substr(1)}) {
      Wire wire = header(encoding.dtype, {encoding.count});
      wire.block(9, raw);
      check_refused(wire, raw.empty() ? "needs data" : "raw_data");
    }
    Wire typed = header(encoding.dtype, {encoding.count + 4});
    typed.raw(encoding.typed.text());
    check_refused(typed, "entries in");
  }
  for (const std::int64_t count : {1, 3}) {
    Wire texts = header(DType::string, {count});
    check_refused(texts.block(6, "a").block(6, "b"), "entries in string_data, there are 2");
  }
}

TEST_CASE("data in two fields or in the wrong one is refused") {
  Wire two = header(DType::float32, {1});
  two.block(9, "abcd").packed_fixed<float>(4, {1});
  check_refused(two, "both raw_data and float_data");
  Wire wrong = header(DType::float32, {1});
  wrong.packed(5, {1});
  check_refused(wrong, "it belongs in float_data");
  Wire text = header(DType::string, {1});
  text.block(9, "a");
  check_refused(text, "it belongs in string_data");
}

TEST_CASE("entries outside the range of the element type are refused") {
  const std::vector<std::pair<DType, std::int64_t>> cases{
      {DType::int8, 128},       {DType::uint8, -1},      {DType::uint16, 65536},
      {DType::int16, -32769},   {DType::float16, 65536}, {DType::bfloat16, -1},
      {DType::float8e5m2, 256}, {DType::int4, 256},      {DType::uint4, -1}};
  for (const auto& [dtype, entry] : cases) {
    INFO(to_string(dtype));
    Wire wire = header(dtype, {1});
    wire.packed(5, {entry});
    check_refused(wire, "entry " + std::to_string(entry));
  }
  Wire wide = header(DType::uint32, {1});
  wide.packed(11, {std::int64_t{1} << 32});
  check_refused(wide, "outside the range of uint32");
}

TEST_CASE("the first and the last entries of the range of an element type are elements") {
  struct Row {
    DType dtype;
    std::int64_t low, high;
  };
  for (const Row& row :
       {Row{DType::int8, -128, 127}, Row{DType::uint8, 0, 255}, Row{DType::int16, -32768, 32767},
        Row{DType::uint16, 0, 65535}, Row{DType::float16, 0, 65535}, Row{DType::int4, -128, 255},
        Row{DType::uint4, 0, 255}, Row{DType::int2, -128, 255}, Row{DType::uint2, 0, 255}}) {
    INFO(to_string(row.dtype));
    for (const std::int64_t entry : {row.low, row.high}) {
      Wire wire = header(row.dtype, {1});
      CHECK_NOTHROW(load(wire.packed(5, {entry})));
    }
    for (const std::int64_t entry : {row.low - 1, row.high + 1}) {
      Wire wire = header(row.dtype, {1});
      check_refused(wire.packed(5, {entry}), "entry " + std::to_string(entry) + " of int32_data");
    }
  }
}

TEST_CASE("impossible shapes and types are refused") {
  Wire full;
  for (int i = 0; i < 32; ++i) full.number(1, 1);
  CHECK(load(full.number(2, 2).block(8, "culprit").block(9, "x")).shape().rank() == 32);

  check_refused(header(DType::float32, {-1}), "dimension -1 is negative");
  check_refused(header(DType::float32, {std::int64_t{1} << 32, std::int64_t{1} << 32}), "2^56");
  check_refused(header(DType::float64, {std::int64_t{1} << 61}), "2^56");
  const std::int64_t large = std::int64_t{1} << 40;
  check_refused(header(DType::uint8, {large, 0, large}), "2^56");
  check_refused(header(DType::undefined, {1}), "UNDEFINED");
  Wire unknown;
  unknown.number(2, 99).block(8, "culprit");
  check_refused(unknown, "element type 99 is unknown");
  Wire segment = header(DType::float32, {1});
  segment.message(3, Wire().number(1, 0).number(2, 1)).block(9, "abcd");
  check_refused(segment, "segment");
  Wire deep;
  for (int i = 0; i < 33; ++i) deep.number(1, 1);
  check_refused(deep.number(2, 1).block(8, "culprit"), "rank is 33, more than 32");
}

TEST_CASE("a tensor larger than the limit is refused") {
  Limits limits;
  limits.tensor_bytes = 7;
  Wire wire = header(DType::float32, {2});
  wire.block(9, "12345678");
  check_refused(wire, "takes 8 bytes, more than 7", limits);
  limits.tensor_bytes = 8;
  CHECK_NOTHROW(load(wire, limits));
  limits.weight_bytes = 8;
  CHECK_NOTHROW(load(wire, limits));
  limits.weight_bytes = 7;
  check_refused(wire, "together exceed 7", limits);
}

TEST_CASE("a stored tensor of every element type is read back identical") {
  for (const auto& encoding : encodings()) {
    INFO(to_string(encoding.dtype));
    Wire wire = header(encoding.dtype, {encoding.count});
    wire.block(9, encoding.raw);
    const Tensor tensor = load(wire);
    const auto [name, again] = load_named_tensor(export_value("x", tensor));
    CHECK(name == "x");
    CHECK(again.identical(tensor));
  }
}
