#include "core/digest.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace ondine;

namespace {

std::string sha(std::string_view text) { return to_hex(sha256(bytes_of(text))); }

std::vector<std::byte> pattern(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 131 + i / 7);
  return bytes;
}

}  // namespace

TEST_CASE("SHA-256 gives the digests of FIPS 180-4") {
  CHECK(sha("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the bytes are cut") {
  for (std::size_t n = 0; n < 200; ++n) {
    const auto bytes = pattern(n);
    for (std::size_t cut = 0; cut <= n; cut += 13) {
      Sha256 hash;
      hash.update(std::span(bytes).first(cut));
      hash.update(std::span(bytes).subspan(cut));
      REQUIRE(hash.finish() == sha256(bytes));
    }
  }
}

TEST_CASE("SHA-256 of every length up to five blocks is what another program computes") {
  // The digest of all digests, by hashlib of Python.
  Sha256 all;
  for (std::size_t n = 0; n < 300; ++n) {
    const Sha256Digest one = sha256(pattern(n));
    all.update(std::as_bytes(std::span(one)));
  }
  CHECK(to_hex(all.finish()) == "9705acb081953fa25957503170269dee336fabc9ec9c377ee938824b605471db");
}

TEST_CASE("CRC-32C gives the checksums of RFC 3720") {
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283U);
  CHECK(crc32c(std::vector<std::byte>(32)) == 0x8a9136aaU);
  CHECK(crc32c(std::vector<std::byte>(32, std::byte{0xff})) == 0x62a8ab43U);
  CHECK(crc32c_portable(bytes_of("123456789")) == 0xe3069283U);
}

TEST_CASE("CRC-32C by tables, by instruction and in chunks agree") {
  const auto bytes = pattern(300);
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t n = 0; first + n <= bytes.size(); n += 11) {
      const auto part = std::span<const std::byte>(bytes).subspan(first, n);
      REQUIRE(crc32c(part) == crc32c_portable(part));
      REQUIRE(crc32c(part) == crc32c(part.subspan(n / 3), crc32c(part.first(n / 3))));
    }
  }
}
