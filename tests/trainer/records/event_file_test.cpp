// Event files, read back with an own reader of records and fields.
#include <bit>
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/file_content.h"
#include "tests/support/temporary_folder.h"
#include "trainer/records/event_file.h"

using namespace ondine;
using namespace ondine::records;
using ondine::test::TemporaryFolder;

namespace {

std::string hex_of(const std::string& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(0));
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}

struct Field {
  std::uint64_t number = 0;
  std::uint64_t bits = 0;  // of a number
  std::string bytes;       // of a text or message
};

std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    const std::uint64_t tag = take_varint(message);
    Field field{tag >> 3, 0, {}};
    if ((tag & 7) == 0) {
      field.bits = take_varint(message);
    } else {
      const std::uint64_t size = (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : take_varint(message);
      field.bytes = message.substr(0, size);
      message.remove_prefix(size);
      for (std::size_t i = 0; i < size && size <= 8; ++i) {
        field.bits |= std::uint64_t{static_cast<unsigned char>(field.bytes[i])} << (8 * i);
      }
    }
    fields.push_back(field);
  }
  return fields;
}

}  // namespace

TEST_CASE("an event file has its version first, then scalars with time, step and tags") {
  const TemporaryFolder folder;
  EventFile file(folder / "events", 1.5);
  const std::vector<std::pair<std::string, double>> values{{"train/loss", 0.25}, {"rate", 1e-3}};
  file.scalars(2.5, 300, values);
  file.restart(3.5, 7);
  file.flush();
  const std::vector<std::string> records = read_records(test::content(folder / "events"));
  REQUIRE(records.size() == 3);

  const std::vector<Field> version = fields_of(records[0]);
  REQUIRE(version.size() == 3);
  CHECK(std::bit_cast<double>(version[0].bits) == 1.5);
  CHECK(version[2].number == 3);
  CHECK(version[2].bytes == "brain.Event:2");

  const std::vector<Field> event = fields_of(records[1]);
  REQUIRE(event.size() == 3);
  CHECK(event[1].number == 2);
  CHECK(event[1].bits == 300);
  CHECK(event[2].number == 5);
  const std::vector<Field> summary = fields_of(event[2].bytes);
  REQUIRE(summary.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<Field> value = fields_of(summary[i].bytes);
    REQUIRE(value.size() == 2);
    CHECK(value[0].number == 1);
    CHECK(value[0].bytes == values[i].first);
    CHECK(value[1].number == 2);
    CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(value[1].bits)) ==
          static_cast<float>(values[i].second));
  }

  const std::vector<Field> restart = fields_of(records[2]);
  CHECK(restart[1].bits == 7);
  CHECK(restart[2].number == 7);
  CHECK(restart[2].bytes == "\x08\x01");
}

TEST_CASE("the bytes of a record are those that the tensorboard package writes") {
  const TemporaryFolder folder;
  EventFile file(folder / "events", 0);
  const std::size_t head = test::content(folder / "events").size();
  file.scalars(2.5, 300,
               std::vector<std::pair<std::string, double>>{{"train/loss", 0.25}, {"rate", 1e-3}});
  file.flush();
  // RecordWriter.write(Event(wall_time=2.5, step=300, summary=...).SerializeToString())
  CHECK(hex_of(test::content(folder / "events").substr(head)) ==
        "2e00000000000000c5cb57fa09000000000000044010ac022a200a110a0a747261696e2f6c6f7373150000803e"
        "0a0b0a0472617465156f12833a19c01a45");
}

TEST_CASE("a record that was changed or cut is not read") {
  const TemporaryFolder folder;
  { EventFile file(folder / "events", 1); }
  const std::string whole = test::content(folder / "events");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    CHECK_THROWS_AS(read_records(changed), Error);
  }
  for (std::size_t size = 1; size < whole.size(); ++size) {
    CHECK_THROWS_AS(read_records(whole.substr(0, size)), Error);
  }
}
