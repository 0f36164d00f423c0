// Compressed files, written here byte by byte.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>

#include "tests/support/crc32.h"
#include "tests/support/temporary_folder.h"
#include "trainer/data/open_data.h"

namespace ondine {
namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

// A member of RFC 1952 with one block of RFC 1951 that holds its bytes as they are.
std::string member(const std::string& bytes) {
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10) + little(1, 1) + little(bytes.size(), 2) +
         little(~bytes.size(), 2) + bytes + little(test::crc32(bytes), 4) + little(bytes.size(), 4);
}

std::string unpacked(const std::string& packed, std::uint64_t limit = 1000) {
  const auto bytes = inflate_gzip(std::as_bytes(std::span(packed)), limit);
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

}  // namespace

TEST_CASE("the members of a gzip file are read one after the other") {
  CHECK(unpacked(member("abc")) == "abc");
  CHECK(unpacked(member("abc") + member("") + member("defg")) == "abcdefg");
  CHECK(unpacked(member("abc") + std::string(100, '\0')) == "abc");
  const std::string large(9'000, 'x');
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += member(large);
  CHECK(unpacked(many, 9'000'000).size() == 9'000'000);
  CHECK_THROWS_WITH(unpacked(many, 8'999'999), "uncompressed data exceeds 8999999 bytes");
}

TEST_CASE("what follows a gzip file, and a member that is damaged, is an error") {
  CHECK_THROWS_WITH(unpacked(member("abc") + "x"), "1 bytes follow the compressed data");
  const std::string two = member("abc") + member("defg");
  for (std::size_t size = 0; size < two.size(); ++size) {
    CAPTURE(size);
    if (size == member("abc").size()) continue;
    CHECK_THROWS_AS(unpacked(two.substr(0, size)), Error);
  }
  std::string changed = two;
  changed[changed.size() - 5] ^= 1;  // the checksum of the second
  CHECK_THROWS_WITH(unpacked(changed), "compressed data is damaged or cut off");
  changed = two;
  changed[changed.size() - 1] ^= 1;  // its size
  CHECK_THROWS_AS(unpacked(changed), Error);
}

TEST_CASE("tables, lines of JSON and texts are read from gzip files too, with all their members") {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  };
  const std::string rows = member("a,y\n1,2\n") + member("3,4\n5,6\n");
  CHECK(Dataset::open(write("t.csv", rows)).rows() == 3);
  CHECK(Dataset::open(write("T.CSV.GZ", rows)).rows() == 3);
  const std::string lines = member("{\"text\":\"a\"}\n") + member("{\"text\":\"b\"}\n");
  CHECK(Dataset::open(write("t.jsonl.gz", lines)).rows() == 2);
  DatasetOptions windows;
  windows.text.length = 2;
  CHECK(Dataset::open(write("t.txt.gz", member("abc") + member("de")), windows).rows() == 2);
}

}  // namespace ondine
