#include "core/packed_elements.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <ondine/error.h>

using namespace ondine;

namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count) {
  Bytes bytes(count);
  unsigned state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

Tensor share(DType dtype, const Shape& shape, const std::shared_ptr<Bytes>& bytes,
             std::function<void()> unpacked = {}) {
  return share_packed(dtype, shape, {*bytes, bytes}, std::move(unpacked));
}

// Element i, computed without packing.h.
int element(const Bytes& bytes, std::size_t i, int bits, bool is_signed) {
  const int shift = static_cast<int>(i) * bits % 8;
  const int found = std::to_integer<int>(bytes[i * static_cast<std::size_t>(bits) / 8]) >> shift;
  const int value = found % (1 << bits);
  return is_signed && value >= 1 << (bits - 1) ? value - (1 << bits) : value;
}

}  // namespace

TEST_CASE(
    "elements of less than 8 bits are packed, the first in the lowest bits, with zeros after") {
  const auto packed = [](DType dtype, const std::vector<int>& elements) {
    Bytes bytes;
    for (const int one : elements) bytes.push_back(static_cast<std::byte>(one));
    Bytes result(packed_size(dtype, static_cast<std::int64_t>(bytes.size())), std::byte{0xff});
    pack(dtype, bytes, result);
    Bytes back(bytes.size());
    unpack(dtype, result, back);
    CHECK(back == bytes);
    std::vector<int> numbers;
    for (const std::byte byte : result) numbers.push_back(std::to_integer<int>(byte));
    return numbers;
  };
  using Numbers = std::vector<int>;
  CHECK(packed(DType::uint4, {1, 2, 15}) == Numbers{0x21, 0x0f});
  CHECK(packed(DType::int4, {-1, 7, -8}) == Numbers{0x7f, 0x08});
  CHECK(packed(DType::uint2, {1, 2, 3, 0, 3}) == Numbers{0b00111001, 0b11});
  CHECK(packed(DType::int2, {-1, 1, -2, 0}) == Numbers{0b00100111});
  CHECK(packed(DType::uint4, {}).empty());
}

TEST_CASE("files hold elements in whole bytes, the last of which may be used in part") {
  CHECK(packed_size(DType::int4, 0) == 0);
  CHECK(packed_size(DType::int4, 4) == 2);
  CHECK(packed_size(DType::int4, 5) == 3);
  CHECK(packed_size(DType::uint2, 4) == 1);
  CHECK(packed_size(DType::uint2, 5) == 2);
  CHECK(packed_size(DType::int8, 5) == 5);
  CHECK(packed_size(DType::float64, 5) == 40);
  CHECK_THROWS(packed_size(DType::float64, std::int64_t{1} << 61));
  for (const DType dtype : {DType::int4, DType::uint4, DType::int2, DType::uint2}) {
    CHECK(is_packed(dtype));
  }
  for (const DType dtype : {DType::int8, DType::uint8, DType::boolean, DType::float8e8m0,
                            DType::float64, DType::string, DType::undefined}) {
    CHECK_FALSE(is_packed(dtype));
  }
}

TEST_CASE("packed elements are unpacked when they are first asked for, and not before") {
  struct Case {
    DType dtype;
    int bits;
    bool is_signed;
  };
  for (const Case& one : {Case{DType::int4, 4, true}, Case{DType::uint4, 4, false},
                          Case{DType::int2, 2, true}, Case{DType::uint2, 2, false}}) {
    constexpr std::int64_t count = 70'000;
    const auto bytes = std::make_shared<Bytes>(random_bytes(packed_size(one.dtype, count)));
    int calls = 0;
    const Tensor tensor = share(one.dtype, {7, 10'000}, bytes, [&calls] { ++calls; });
    const Tensor view = tensor.reshaped({count});
    REQUIRE(packed_elements(tensor));
    REQUIRE(packed_elements(view));
    CHECK(packed_elements(view)->bytes.data() == bytes->data());
    CHECK(packed_elements(view)->bytes.size() == bytes->size());
    CHECK(tensor.bytes() == count);
    CHECK(calls == 0);
    const auto* elements = static_cast<const std::int8_t*>(view.data());
    CHECK(calls == 1);
    CHECK_FALSE(packed_elements(tensor));
    bool same = true;
    for (std::size_t i = 0; i < count; ++i) {
      same = same && elements[i] == element(*bytes, i, one.bits, one.is_signed);
    }
    CHECK(same);
    CHECK(tensor.data() == elements);
    CHECK(calls == 1);
  }
}

TEST_CASE("few elements, and those before set bits of none, are unpacked at once") {
  const auto few = std::make_shared<Bytes>(random_bytes(50));
  const Tensor small = share(DType::int4, {100}, few);
  CHECK_FALSE(packed_elements(small));
  CHECK(static_cast<const std::int8_t*>(small.data())[99] == element(*few, 99, 4, true));
  CHECK(share(DType::int4, {0}, std::make_shared<Bytes>()).size() == 0);
  const auto many = std::make_shared<Bytes>(random_bytes(50'000));
  many->back() = std::byte{0x1f};
  CHECK_FALSE(packed_elements(share(DType::uint4, {99'999}, many)));
  CHECK(packed_elements(share(DType::uint4, {100'000}, many)));
  many->back() = std::byte{0x0f};
  CHECK(packed_elements(share(DType::uint4, {99'999}, many)));
}

TEST_CASE("the bytes live as long as a tensor or what was read from it") {
  auto bytes = std::make_shared<Bytes>(random_bytes(50'000));
  const std::weak_ptr<Bytes> alive = bytes;
  std::optional<PackedElements> packed;
  {
    const Tensor tensor = share(DType::uint4, {100'000}, bytes);
    bytes.reset();
    CHECK_FALSE(alive.expired());
    packed = packed_elements(tensor);
  }
  CHECK_FALSE(alive.expired());
  packed.reset();
  CHECK(alive.expired());
}

TEST_CASE("other tensors have no packed elements") {
  CHECK_FALSE(packed_elements(Tensor()));
  CHECK_FALSE(packed_elements(Tensor(DType::int4, {100'000})));
  CHECK_FALSE(packed_elements(Tensor(DType::int8, {100'000})));
}

TEST_CASE("threads may read packed elements while another unpacks them") {
  const auto bytes = std::make_shared<Bytes>(random_bytes(200'000));
  const Tensor tensor = share(DType::int4, {400'000}, bytes);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto packed = packed_elements(tensor);
      if (packed && packed->bytes.data() != bytes->data()) ++wrong;
      const auto i = static_cast<std::size_t>(t) * 99'999;
      const auto* elements = static_cast<const std::int8_t*>(tensor.data());
      if (elements[i] != element(*bytes, i, 4, true)) ++wrong;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("packed elements that memory cannot hold one to a byte are refused") {
  const auto bytes = std::make_shared<Bytes>(64);
  const std::int64_t half = std::numeric_limits<std::ptrdiff_t>::max() / 2 + 1;
  CHECK_THROWS_AS(share(DType::uint2, Shape{half, 2}, bytes), Error);
}
