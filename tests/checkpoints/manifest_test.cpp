#include "checkpoints/manifest.h"

#include <catch2/catch.hpp>

#include <clocale>
#include <locale>
#include <random>

#include "checkpoints/header.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

// A file whose hashes are right, whatever the manifest says.
std::vector<std::byte> file_around(std::string_view manifest, std::span<const std::byte> tensors) {
  Header header;
  header.manifest_bytes = manifest.size();
  header.manifest_digest = sha256(bytes_of(manifest));
  std::vector<std::byte> rest = to_bytes(manifest);
  rest.insert(rest.end(), tensors.begin(), tensors.end());
  header.file_bytes = header_size + rest.size();
  const auto head = encode_header(header);
  rest.insert(rest.begin(), head.begin(), head.end());
  return rest;
}

// Thousands with a comma, as some locales have them.
struct Grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_CASE("a manifest is the text that the format's documentation gives") {
  Manifest manifest;
  manifest.library_version = "0.1.0";
  manifest.model = {"exporter", "", "ai.example", -2};
  manifest.random_seed = 7;
  manifest.random_step = 8;
  manifest.step = 9;
  manifest.epoch = 10;
  manifest.algorithm_steps = {11, 12};
  manifest.cursor = {13, 14, 15};
  manifest.properties = {{"lr", 1, 0, 4607182418800017408, ""}};
  manifest.tensors = {{"w", "weight", 1, {2, 3}, 24, 99}};
  CHECK(encode_manifest(manifest) ==
        "5 0.1.0 8 exporter 0  10 ai.example -2 7 8 9 10 2 11 12 13 14 15 "
        "1 2 lr 1 0 4607182418800017408 0  "
        "1 1 w 6 weight 1 2 2 3 24 99\n");
}

TEST_CASE("a manifest does not depend on the locale") {
  Manifest manifest;
  manifest.step = 1234567;
  const std::string plain = encode_manifest(manifest);
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  const std::string grouped = encode_manifest(manifest);
  const std::uint64_t back = decode_manifest_v1(bytes_of(plain)).step;
  std::string with_comma = plain;
  with_comma.replace(with_comma.find("1234567"), 7, "1,234,567");
  CHECK_THROWS_AS(decode_manifest_v1(bytes_of(with_comma)), Error);
  std::locale::global(before);
  CHECK(grouped == plain);
  CHECK(back == 1234567);
}

TEST_CASE("a length in a manifest is not believed beyond the bytes that are left") {
  for (const std::string text :
       {"99999999999999 x\n", "18446744073709551615 x\n", "-1 x\n", "5 ab\n", "",
        "0  0  0  0  0 0 0 0 0 4000000000000000000 1 2 3\n"}) {
    INFO(text);
    CHECK_THROWS_AS(decode_manifest_v1(bytes_of(text)), Error);
  }
}

TEST_CASE("a manifest with right hashes and hostile content is refused without harm") {
  const Manifest good = describe(sample_checkpoint(2));
  const auto refuse = [&](const Manifest& manifest, ErrorCode code = ErrorCode::corrupt) {
    return refusal(file_around(encode_manifest(manifest), std::vector<std::byte>(1000)), code);
  };
  Manifest bad = good;
  bad.tensors[0].bytes = std::uint64_t{1} << 63;
  CHECK_THAT(refuse(bad, ErrorCode::limit), Catch::Contains("size 9223372036854775808 overflows"));
  bad.tensors[0].bytes = (std::uint64_t{1} << 63) - 1;
  CHECK_THAT(refuse(bad, ErrorCode::limit), Catch::Contains(" + 9223372036854775807 overflows"));
  bad.tensors[0].bytes = 1'000'000'000'000;
  CHECK_THAT(refuse(bad), Catch::Contains("its tensors end at"));
  bad = good;
  for (PropertyEntry& property : bad.properties) {
    const PropertyEntry kept = property;
    property.kind = (kept.kind + 1) % 3;
    CHECK_THAT(refuse(bad), Catch::Contains("another kind"));
    property = kept;
  }
  bad.properties[0].kind = 3;
  CHECK_THAT(refuse(bad), Catch::Contains("kind 3"));
  bad = good;
  bad.tensors[1].name = bad.tensors[0].name;
  CHECK_THAT(refuse(bad), Catch::Contains("duplicate state variable"));

  const auto one_tensor = [&](TensorEntry entry, std::size_t payload = 8) {
    Manifest manifest;
    manifest.tensors = {entry};
    const std::string text = encode_manifest(manifest);
    const std::size_t gap = (64 - (header_size + text.size()) % 64) % 64;
    return refusal(file_around(text, std::vector<std::byte>(gap + payload)),
                   entry.dims.size() > 2 ? ErrorCode::limit : ErrorCode::corrupt);
  };
  const std::uint64_t crc = crc32c(std::vector<std::byte>(8));
  CHECK(one_tensor({"w", "", 1, {2}, 8, crc}) == "");
  CHECK_THAT(one_tensor({"w", "", 1, {3}, 8, crc}), Catch::Contains("takes 12 bytes"));
  CHECK_THAT(one_tensor({"w", "", 1, {-2}, 8, crc}), Catch::Contains("negative"));
  CHECK_THAT(one_tensor({"w", "", 0, {2}, 8, crc}), Catch::Contains("element type 0"));
  CHECK_THAT(one_tensor({"w", "", 27, {2}, 8, crc}), Catch::Contains("element type 27"));
  CHECK_THAT(one_tensor({"w", "", 1, {2}, 8, crc + 1}), Catch::Contains("CRC-32C"));
  CHECK_THAT(one_tensor({"w", "", 1, {2}, 8, crc | std::uint64_t{1} << 32}),
             Catch::Contains("not a CRC-32C"));
  CHECK_THAT(one_tensor({"w", "", 1, {2}, 8, UINT32_MAX}), !Catch::Contains("not a CRC-32C"));
  CHECK_THAT(one_tensor({"w", "", 8, {1000000000}, 8, crc}), Catch::Contains("cannot hold"));
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK_THAT(one_tensor({"w", "", 1, {large, large, large}, 8, crc}), Catch::Contains("w"));
}

TEST_CASE("what follows a manifest is refused with the place where it should have ended") {
  const std::string text = encode_manifest(describe(sample_checkpoint(5)));
  const std::string place = "manifest does not end at byte " + std::to_string(text.size() - 1);
  for (const char* more : {"1", "\n", " "}) {
    CHECK_THROWS_WITH(decode_manifest_v1(bytes_of(text + more)), Catch::Contains(place));
  }
  const std::string open = text.substr(0, text.size() - 1);
  CHECK_THROWS_WITH(decode_manifest_v1(bytes_of(open)), Catch::Contains(place));
}

TEST_CASE("a byte that is no boolean is refused") {
  Manifest manifest;
  const std::vector<std::byte> two{std::byte{2}};
  manifest.tensors = {
      {"flag", "", static_cast<std::uint64_t>(DType::boolean), {1}, 1, crc32c(two)}};
  const std::string text = encode_manifest(manifest);
  std::vector<std::byte> tail((64 - (header_size + text.size()) % 64) % 64);
  tail.push_back(two[0]);
  CHECK_THAT(refusal(file_around(text, tail)), Catch::Contains("which is not a bool"));
}

TEST_CASE("a randomly changed manifest with right hashes is read or refused, nothing else") {
  const std::string good = encode_manifest(describe(sample_checkpoint(5)));
  const auto bytes = encoded(sample_checkpoint(5));
  const std::span<const std::byte> tensors = std::span(bytes).subspan(header_size + good.size());
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::string_view letters = "0123456789 -\nx";
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (std::size_t change = below(3) + 1; change > 0; --change) {
      const std::size_t at = below(text.size());
      const std::size_t kind = below(3);
      if (kind == 0) text[at] = letters[below(letters.size())];
      if (kind == 1) text.insert(at, 1, letters[below(letters.size())]);
      if (kind == 2) text.erase(at, below(4));
    }
    try {
      decoded(file_around(text, tensors));
    } catch (const Error& error) {
      ++refused;
      const bool expected = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::limit;
      if (!expected) FAIL(error.what());
    }
  }
  CHECK(refused > 10'000);
}
