#include "checkpoints/elements.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/error.h>

using namespace ondine;

namespace {

// "" where the bytes are elements of the type.
std::string refusal(const std::vector<unsigned char>& stored, DType dtype, std::int64_t count) {
  MemorySource source(std::as_bytes(std::span(stored)));
  try {
    const Tensor tensor = read_elements(source, dtype, {count}, stored.size());
    CHECK(tensor.size() == count);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt);
    return error.message();
  }
}

}  // namespace

TEST_CASE("each byte is an element of the types that have it, one a byte") {
  for (int byte = 0; byte < 256; ++byte) {
    const int number = byte < 128 ? byte : byte - 256;
    struct Row {
      DType dtype;
      bool is_element;
    };
    for (const Row& row : {
             Row{DType::boolean, byte == 0 || byte == 1},
             Row{DType::uint2, byte <= 3},
             Row{DType::uint4, byte <= 15},
             Row{DType::float4e2m1, byte <= 15},
             Row{DType::int2, number >= -2 && number <= 1},
             Row{DType::int4, number >= -8 && number <= 7},
             Row{DType::uint8, true},
             Row{DType::int8, true},
             Row{DType::float8e5m2, true},
         }) {
      const std::string name(to_string(row.dtype));
      const std::string why =
          "element 1 holds " + std::to_string(byte) + ", which is not a " + name;
      INFO(name);
      CHECK(refusal({0, static_cast<unsigned char>(byte)}, row.dtype, 2) ==
            (row.is_element ? "" : why));
    }
  }
}

TEST_CASE("stored strings that do not fill their bytes are refused, naming what is wrong") {
  const auto text = [](unsigned char length, const std::string& letters) {
    std::vector<unsigned char> bytes{length, 0, 0, 0, 0, 0, 0, 0};
    bytes.insert(bytes.end(), letters.begin(), letters.end());
    return bytes;
  };
  const auto check = [](const std::vector<unsigned char>& stored, std::int64_t count) {
    return refusal(stored, DType::string, count);
  };
  CHECK(check({}, 0).empty());
  CHECK(check(text(0, ""), 1).empty());
  CHECK(check(text(2, "ab"), 1).empty());
  CHECK(check({}, 1) == "0 bytes cannot hold 1 strings");
  CHECK(check({0, 0, 0, 0, 0, 0, 0}, 1) == "7 bytes cannot hold 1 strings");
  CHECK(check(text(2, "abcdefgh"), 3) == "16 bytes cannot hold 3 strings");
  CHECK(check(text(8, "abcdefgh"), 2) == "a string has no length");
  CHECK(check(text(2, "abcdefgh"), 2) == "a string has no length");
  CHECK(check(text(3, "ab"), 1) == "a string of 3 bytes, but only 2 left");
  CHECK(check(text(2, "abc"), 1) == "1 bytes after the last string");
  auto two = text(1, "a");
  const auto second = text(3, "bcd");
  two.insert(two.end(), second.begin(), second.end());
  CHECK(check(two, 2).empty());
  CHECK(check(two, 1) == "11 bytes after the last string");
}

TEST_CASE("stored elements are little-endian, with the length before each string") {
  const auto stored = [](const Tensor& tensor) {
    std::vector<int> bytes;
    for_stored_pieces(tensor, [&](std::span<const std::byte> piece) {
      for (const std::byte byte : piece) bytes.push_back(std::to_integer<int>(byte));
    });
    CHECK(bytes.size() == stored_bytes(tensor));
    return bytes;
  };
  using Bytes = std::vector<int>;
  CHECK(stored(Tensor::of<std::int32_t>({2}, {1, -2})) ==
        Bytes{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff});
  CHECK(stored(Tensor::of<std::string>({2}, {"ab", ""})) ==
        Bytes{2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(stored(Tensor(DType::float32, {0})).empty());
}
