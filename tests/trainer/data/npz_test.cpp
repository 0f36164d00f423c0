// Archives of arrays, written here byte by byte.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include <ondine/data.h>

#include "tests/support/temporary_folder.h"
#include "trainer/data/open_data.h"

using namespace ondine;
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
                 little(0, 8) + little(entry.wide ? absent : packed.size(), 4) +
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

std::vector<std::pair<std::string, Tensor>> read(const std::string& file, const Limits& limits) {
  const auto owned = std::make_shared<std::string>(file);
  SharedSource source(std::as_bytes(std::span(*owned)), owned);
  return read_npz(source, limits);
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
