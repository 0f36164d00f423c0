// Archives of arrays, written here byte by byte.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include <ondine/data.h>

#include "tests/support/crc32.h"
#include "tests/support/temporary_folder.h"
#include "trainer/data/open_data.h"

using namespace ondine;
using ondine::test::crc32;
using ondine::test::TemporaryFolder;

namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

std::string npy(const Tensor& tensor) {
  const TemporaryFolder folder;
  save_array(folder / "a.npy", tensor);
  std::ifstream in(folder / "a.npy", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Two blocks of RFC 1951 that hold their bytes as they are; the second is the last.
std::string deflated(const std::string& bytes) {
  std::string out;
  const std::size_t half = bytes.size() / 2;
  for (const std::string& part : {bytes.substr(0, half), bytes.substr(half)}) {
    out += little(out.empty() ? 0 : 1, 1) + little(part.size(), 2) + little(~part.size(), 2) + part;
  }
  return out;
}

struct Entry {
  std::string name;
  std::string bytes;
  bool deflate = false;
  bool wide = false;  // sizes and offset in the zip64 field
  std::uint32_t crc_error = 0;
  std::uint32_t packed_error = 0;
};

// The records follow APPNOTE.TXT: local headers with data, the directory, the end record.
std::string archive(const std::vector<Entry>& entries, bool wide_end = false,
                    const std::string& comment = "") {
  std::string file = "in front of the archive's directory may be anything";
  std::string directory;
  constexpr std::uint64_t absent = 0xffffffff;
  for (const Entry& entry : entries) {
    const std::string packed = entry.deflate ? deflated(entry.bytes) : entry.bytes;
    const std::uint64_t header = file.size();
    const std::string method = little(entry.deflate ? 8 : 0, 2);
    const std::string local_extra = "an extra field of local headers only";
    file += little(0x04034b50, 4) + little(20, 2) + little(0, 2) + method + little(0, 8) +
            little(packed.size(), 4) + little(entry.bytes.size(), 4) +
            little(entry.name.size(), 2) + little(local_extra.size(), 2) + entry.name +
            local_extra + packed;
    // Another field, of 5 bytes, stands before the zip64 field, whose identifier is 1.
    std::string extra = little(7, 2) + little(5, 2) + "other";
    if (entry.wide) {
      extra += little(1, 2) + little(24, 2) + little(entry.bytes.size(), 8) +
               little(packed.size(), 8) + little(header, 8);
    }
    const std::string note = "comment";
    directory += little(0x02014b50, 4) + little(20, 2) + little(20, 2) + little(0, 2) + method +
                 little(0, 4) + little(crc32(entry.bytes) ^ entry.crc_error, 4) +
                 little(entry.wide ? absent : packed.size() + entry.packed_error, 4) +
                 little(entry.wide ? absent : entry.bytes.size(), 4) +
                 little(entry.name.size(), 2) + little(extra.size(), 2) + little(note.size(), 2) +
                 little(0, 8) + little(entry.wide ? absent : header, 4) + entry.name + extra + note;
  }
  const std::uint64_t at = file.size();
  file += directory;
  if (wide_end) {
    const std::uint64_t record = file.size();
    file += little(0x06064b50, 4) + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
            little(entries.size(), 8) + little(entries.size(), 8) + little(directory.size(), 8) +
            little(at, 8);
    file += little(0x07064b50, 4) + little(0, 4) + little(record, 8) + little(1, 4);
  }
  return file + little(0x06054b50, 4) + little(0, 4) +
         little(wide_end ? 0xffff : entries.size(), 2) +
         little(wide_end ? 0xffff : entries.size(), 2) + little(directory.size(), 4) +
         little(wide_end ? absent : at, 4) + little(comment.size(), 2) + comment;
}

Archive read_all(const std::string& file, const Limits& limits = {}) {
  const auto owned = std::make_shared<std::string>(file);
  SharedSource source(std::as_bytes(std::span(*owned)), owned);
  return read_npz(source, limits);
}

std::vector<std::pair<std::string, Tensor>> read(const std::string& file, const Limits& limits) {
  return read_all(file, limits).arrays;
}

// An .npy file whose elements Ondine has no type for.
std::string npy_of(const std::string& descr) {
  std::string header = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }\n";
  return "\x93NUMPY" + little(1, 2) + little(header.size(), 2) + header + std::string(64, ' ');
}

const Tensor& first() {
  static const Tensor tensor = Tensor::of<double>({2, 3}, {1, 2, 3, 4, 5, 6.5});
  return tensor;
}

const Tensor& second() {
  static const Tensor tensor = Tensor::of<std::int64_t>({4}, {7, -8, 9, -10});
  return tensor;
}

}  // namespace

TEST_CASE("arrays of an archive come in its order, stored, deflated and with wide numbers") {
  for (const bool deflate : {false, true}) {
    for (const bool wide : {false, true}) {
      for (const bool wide_end : {false, true}) {
        CAPTURE(deflate, wide, wide_end);
        const std::string file = archive({{"first.npy", npy(first()), deflate, wide},
                                          {"notes.txt", "no array", deflate, wide},
                                          {"second.npy", npy(second()), !deflate, !wide}},
                                         wide_end);
        const auto arrays = read(file, {});
        REQUIRE(arrays.size() == 2);
        CHECK(arrays[0].first == "first");
        CHECK(arrays[0].second.identical(first()));
        CHECK(arrays[1].first == "second");
        CHECK(arrays[1].second.identical(second()));
      }
    }
  }
}

TEST_CASE("an archive may end with a comment, of any length") {
  for (const std::size_t length : {1U, 100U, 65535U}) {
    const std::string file = archive({{"a.npy", npy(second())}}, false, std::string(length, '!'));
    const auto arrays = read(file, {});
    REQUIRE(arrays.size() == 1);
    CHECK(arrays[0].second.identical(second()));
  }
  CHECK(read(archive({}), {}).empty());
}

TEST_CASE("the arrays of an archive count against the limit of all weights together") {
  const std::string file = archive({{"a.npy", npy(second())}, {"b.npy", npy(second())}});
  Limits limits;
  limits.weight_bytes = 64;
  CHECK(read(file, limits).size() == 2);
  limits.weight_bytes = 63;
  CHECK_THROWS_WITH(read(file, limits), Catch::Contains("arrays of 64 bytes"));
  limits = {};
  limits.tensor_bytes = 31;
  CHECK_THROWS_WITH(read(file, limits), Catch::Contains("member 'a.npy'"));
}

TEST_CASE("damaged archives are refused, wherever they are cut or changed") {
  const std::string file = archive({{"a.npy", npy(second()), true}, {"b.npy", npy(second())}});
  for (std::size_t size = 0; size < file.size(); ++size) {
    CHECK_THROWS_AS(read(file.substr(0, size), {}), Error);
  }
  CHECK_THROWS_WITH(read("no archive but a text of more than 22 bytes", {}),
                    Catch::Contains("no zip archive"));
  std::string changed = file;
  changed[changed.find("PK\x01\x02")] = 'Q';
  CHECK_THROWS_WITH(read(changed, {}), Catch::Contains("the zip directory is damaged"));
  changed = file;
  changed[changed.find("PK\x01\x02") + 10] = 12;
  CHECK_THROWS_WITH(read(changed, {}), Catch::Contains("zip compression 12"));
}

TEST_CASE("a member whose checksum is wrong is refused, stored or deflated") {
  for (const bool deflate : {false, true}) {
    CAPTURE(deflate);
    const std::string file = archive({{"a.npy", npy(second()), deflate}});
    CHECK(read(file, {}).size() == 1);
    std::string changed = file;
    const char last[] = "\xf6\xff\xff\xff\xff\xff\xff\xff";  // -10, the last element
    changed[changed.rfind(std::string(last, 8))] ^= 0x40;
    CHECK_THROWS_WITH(read(changed, {}),
                      Catch::Contains("member 'a.npy'") && Catch::Contains("checksum (CRC-32)"));
    Entry wrong{"a.npy", npy(second()), deflate};
    wrong.crc_error = 1;
    CHECK_THROWS_WITH(read(archive({wrong}), {}), Catch::Contains("checksum (CRC-32)"));
  }
}

TEST_CASE("a member has the sizes that the directory says") {
  Entry stored{"a.npy", npy(second())};
  stored.packed_error = static_cast<std::uint32_t>(-8);
  CHECK_THROWS_WITH(read(archive({stored}), {}), Catch::Contains("a stored member of"));
  Entry packed{"a.npy", npy(second()), true};
  std::string file = archive({packed});
  const std::size_t size = file.find("PK\x01\x02") + 24;
  for (const int change : {-1, 1}) {
    std::string changed = file;
    changed[size] = static_cast<char>(changed[size] + change);
    CHECK_THROWS_WITH(read(changed, {}), Catch::Contains(change < 0 ? "more than" : "fewer than"));
  }
}

TEST_CASE("members that share bytes are refused") {
  const std::string file = archive({{"a.npy", npy(second())}, {"b.npy", npy(second())}});
  std::string changed = file;
  const std::size_t first = changed.find("PK\x01\x02");
  const std::size_t other = changed.find("PK\x01\x02", first + 1);
  changed.replace(other + 42, 4, changed.substr(first + 42, 4));  // the offset of its header
  CHECK_THROWS_WITH(read(changed, {}), Catch::Contains("overlaps"));
  Entry last{"a.npy", npy(second())};
  last.packed_error = 8;
  CHECK_THROWS_WITH(read(archive({last}), {}), Catch::Contains("overlaps the directory"));
}

TEST_CASE("members that are no arrays of numbers are left out with the reason") {
  const Archive content =
      read_all(archive({{"x.npy", npy(second())},
                        {"names.npy", npy_of("'<U3'")},
                        {"author.npy", npy_of("'|O'")},
                        {"days.npy", npy_of("'<M8[D]'"), true},
                        {"pairs.npy", npy_of("[('a', '<i4'), ('b', '<f4')]")}}));
  REQUIRE(content.arrays.size() == 1);
  CHECK(content.arrays[0].first == "x");
  REQUIRE(content.left_out.size() == 4);
  CHECK(content.left_out[0].name == "names");
  CHECK(content.left_out[0].why == ".npy element type '<U3', texts");
  CHECK(content.left_out[1].why == ".npy element type '|O', Python objects");
  CHECK(content.left_out[2].why == ".npy element type '<M8[D]', dates or times");
  CHECK(content.left_out[3].why == "structured .npy arrays");
}
