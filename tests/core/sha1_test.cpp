#include "core/sha1.h"

#include <catch2/catch.hpp>

#include <string>

using namespace ondine;

namespace {

std::string sha1(const std::string& text) {
  Sha1 sha1;
  sha1.update(std::as_bytes(std::span(text)));
  return sha1.finish();
}

}  // namespace

TEST_CASE("SHA-1 gives the digests of FIPS 180") {
  CHECK(sha1("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(sha1("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  CHECK(sha1(std::string(1'000'000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_CASE("SHA-1 of every length up to five blocks is what another program computes") {
  // The checksum of all checksums, as bytes, by hashlib of Python.
  Sha1 all;
  for (std::size_t n = 0; n < 300; ++n) {
    std::string text(n, ' ');
    for (std::size_t i = 0; i < n; ++i) text[i] = static_cast<char>(i * 131 + i / 7);
    const std::string digits = sha1(text);
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      const auto byte = static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16));
      all.update({&byte, 1});
    }
  }
  CHECK(all.finish() == "7ae4c44e9d73695e68b3cbc7426ef164d4ca8392");
}

TEST_CASE("SHA-1 does not depend on how the bytes are cut") {
  const std::string text(300, 'q');
  Sha1 pieces;
  for (std::size_t at = 0, step = 1; at < text.size(); at += step, step = step * 2 % 97) {
    pieces.update(std::as_bytes(std::span(text).subspan(at, std::min(step, text.size() - at))));
  }
  CHECK(pieces.finish() == sha1(text));
}
