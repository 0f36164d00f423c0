#include "checkpoints/format.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "checkpoints/elements.h"
#include "checkpoints/header.h"
#include "core/byte_order.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("a checkpoint with a tensor of every dtype comes back bit for bit") {
  Checkpoint checkpoint = sample_checkpoint(7);
  checkpoint.state = variables_of_every_dtype();
  CHECK(identical(decoded(encoded(checkpoint)), checkpoint));
  CHECK(encoded(decoded(encoded(checkpoint))) == encoded(checkpoint));
}

TEST_CASE("an empty checkpoint comes back") {
  CHECK(identical(decoded(encoded(Checkpoint{})), Checkpoint{}));
}

TEST_CASE("every flipped bit of a checkpoint is detected and located") {
  std::vector<std::byte> bytes = encoded(sample_checkpoint(3));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      const auto mask = static_cast<std::byte>(1 << bit);
      bytes[i] ^= mask;
      const std::string message = refusal(bytes);
      bytes[i] ^= mask;
      INFO("bit " << bit << " of byte " << i << ": " << message);
      REQUIRE(message.find("byte") != std::string::npos);
    }
  }
}

TEST_CASE("every truncation of a checkpoint and every trailing byte is refused") {
  std::vector<std::byte> bytes = encoded(sample_checkpoint(3));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    REQUIRE(refusal(std::span(bytes).first(n)) != "");
  }
  for (int value = 0; value < 256; ++value) {
    bytes.push_back(static_cast<std::byte>(value));
    CHECK(refusal(bytes) != "");
    bytes.pop_back();
  }
  REQUIRE(refusal(bytes) == "");
}

TEST_CASE("damage to a tensor names the state variable") {
  std::vector<std::byte> bytes = encoded(sample_checkpoint(3));
  bytes.back() ^= std::byte{1};
  CHECK_THAT(refusal(bytes), Catch::Contains("CRC-32C") && Catch::Contains("'labels'"));
}

TEST_CASE("a newer format is unsupported, not damaged") {
  std::vector<std::byte> bytes = encoded(sample_checkpoint(3));
  MemorySource source(bytes);
  Header header = decode_header(source);
  header.version = checkpoint_version + 1;
  std::ranges::copy(encode_header(header), bytes.begin());
  CHECK_THAT(refusal(bytes, ErrorCode::unsupported), Catch::Contains("newer"));
  header.version = 0;
  std::ranges::copy(encode_header(header), bytes.begin());
  CHECK_THAT(refusal(bytes), Catch::Contains("version 0"));
}

TEST_CASE("bytes of the header that no field has are 0") {
  // CRC-32C by its definition, bit by bit.
  const auto crc = [](std::span<const std::byte> bytes) {
    std::uint32_t value = ~0U;
    for (const std::byte byte : bytes) {
      value ^= std::to_integer<std::uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1U ? 0x82f63b78U : 0U);
    }
    return ~value;
  };
  const std::vector<std::byte> whole = encoded(sample_checkpoint(3));
  std::vector<std::size_t> reserved{12, 13, 14, 15};
  for (std::size_t i = 96; i < 124; ++i) reserved.push_back(i);
  for (const std::size_t i : reserved) {
    std::vector<std::byte> bytes = whole;
    REQUIRE(bytes[i] == std::byte{0});
    bytes[i] = std::byte{1};
    const std::uint32_t sum = crc(std::span(bytes).first(124));
    for (std::size_t k = 0; k < 4; ++k) bytes[124 + k] = static_cast<std::byte>(sum >> (8 * k));
    INFO("byte " << i);
    CHECK_THAT(refusal(bytes), Catch::Contains("header has bytes that are not 0"));
  }
}

TEST_CASE("a checkpoint of another model is refused and both models are named") {
  const Checkpoint checkpoint = sample_checkpoint(1);
  const auto bytes = encoded(checkpoint);
  ExpectedModel expected{checkpoint.fingerprint, {"exporter", "speech", "", 1}};
  MemorySource same(bytes);
  CHECK(identical(decode_checkpoint(same, expected), checkpoint));
  expected.fingerprint[31] ^= 1;
  MemorySource other(bytes);
  try {
    decode_checkpoint(other, expected);
    FAIL("was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    CHECK_THAT(error.what(), Catch::Contains("'mnist ") && Catch::Contains("'speech'"));
  }
}

TEST_CASE("limits bound the memory of loading a checkpoint") {
  const auto bytes = encoded(sample_checkpoint(1));
  const auto code = [&](const Limits& limits) {
    MemorySource source(bytes);
    try {
      decode_checkpoint(source, {}, limits);
      return std::string("accepted");
    } catch (const Error& error) {
      return std::string(to_string(error.code()));
    }
  };
  CHECK(code({}) == "accepted");
  CHECK(code({.manifest_bytes = 100}) == "limit");
  CHECK(code({.tensor_bytes = 100}) == "limit");
  CHECK(code({.weight_bytes = 100}) == "limit");
  // A limit allows its last byte, not only the one before.
  std::uint64_t largest = 0;
  for (const CheckpointVariable& one : sample_checkpoint(1).state) {
    largest = std::max<std::uint64_t>(largest, one.value.bytes());
  }
  CHECK(code({.tensor_bytes = largest}) == "accepted");
  CHECK(code({.tensor_bytes = largest - 1}) == "limit");
  CHECK(code({.weight_bytes = bytes.size()}) == "accepted");
  CHECK(code({.weight_bytes = bytes.size() - 1}) == "limit");
  std::uint64_t manifest = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    manifest |= std::to_integer<std::uint64_t>(bytes[24 + i]) << (8 * i);
  }
  CHECK(code({.manifest_bytes = manifest}) == "accepted");
  CHECK(code({.manifest_bytes = manifest - 1}) == "limit");
}

TEST_CASE("tensors without elements, of rank 0 and of the largest rank come back") {
  Checkpoint checkpoint = sample_checkpoint(1);
  checkpoint.state.push_back({"nothing", "weight", Tensor(DType::float32, {0, 3})});
  checkpoint.state.push_back({"one", "weight", Tensor::scalar(2.5)});
  Shape deep;
  while (deep.rank() < Shape::max_rank) deep.push_back(1);
  checkpoint.state.push_back({"deep", "weight", Tensor(DType::float32, deep)});
  CHECK(identical(decoded(encoded(checkpoint)), checkpoint));
}

TEST_CASE("a state that cannot be stored is refused when it is saved") {
  Checkpoint checkpoint = sample_checkpoint(1);
  checkpoint.state.push_back(checkpoint.state[0]);
  CHECK_THROWS_WITH(encoded(checkpoint), "duplicate state variable 'fc.weight'");
  checkpoint.state.back() = {"later", "weight", {}};
  CHECK_THROWS_WITH(encoded(checkpoint), "state variable 'later' has no value");
}

TEST_CASE("a machine of the other byte order writes and reads the same file") {
  for (const auto& [name, role, value] : variables_of_every_dtype()) {
    INFO(name);
    MemorySink swapped;
    for_stored_pieces(
        value, [&](auto piece) { swapped.write(piece); }, true);
    MemorySource source(swapped.bytes());
    const Tensor back =
        read_elements(source, value.dtype(), value.shape(), swapped.bytes().size(), {}, true);
    CHECK(back.identical(value));
  }
  MemorySink swapped;
  for_stored_pieces(
      Tensor::scalar<std::uint32_t>(0x01020304), [&](auto piece) { swapped.write(piece); }, true);
  std::vector expected{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  if (other_byte_order) std::ranges::reverse(expected);
  CHECK(swapped.bytes() == expected);
  MemorySink complex;
  for_stored_pieces(
      Tensor::scalar(std::complex<float>(0, -0.0F)), [&](auto piece) { complex.write(piece); },
      true);
  CHECK(complex.bytes()[other_byte_order ? 7 : 4] == std::byte{0x80});
}

TEST_CASE("a large tensor is written from where it is") {
  class Watcher final : public Sink {
   public:
    explicit Watcher(const void* data) : data_(data) {}
    void write(std::span<const std::byte> bytes) override {
      if (bytes.data() == data_) seen_ = bytes.size();
    }
    std::size_t seen_ = 0;

   private:
    const void* data_;
  };
  if (other_byte_order) return;
  const Checkpoint checkpoint = sample_checkpoint(1, 100'000);
  Watcher watcher(checkpoint.state[0].value.data());
  encode_checkpoint(checkpoint, watcher);
  CHECK(watcher.seen_ == 400'000);
}
