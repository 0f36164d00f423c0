#include "trainer/records/event_file.h"

#include <bit>

#include "core/digest.h"
#include "core/message.h"
#include "trainer/records/output.h"

namespace ondine::records {
namespace {

// Little-endian, on any machine.
template <class T>
void append_fixed(std::string& to, T bits) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to += static_cast<char>(bits >> (8 * i) & 0xff);
}

void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7f) | 0x80);
  to += static_cast<char>(value);
}

enum Wire : std::uint64_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

void append_tag(std::string& to, std::uint64_t field, Wire wire) {
  append_varint(to, field << 3 | wire);
}

void append_text(std::string& to, std::uint64_t field, const std::string& text) {
  append_tag(to, field, length);
  append_varint(to, text.size());
  to += text;
}

// Fields of Event.
constexpr std::uint64_t event_wall_time = 1;
constexpr std::uint64_t event_step = 2;
constexpr std::uint64_t event_file_version = 3;
constexpr std::uint64_t event_summary = 5;
constexpr std::uint64_t event_session_log = 7;
// Fields of Summary, Summary.Value and SessionLog.
constexpr std::uint64_t summary_value = 1;
constexpr std::uint64_t value_tag = 1;
constexpr std::uint64_t value_simple = 2;
constexpr std::uint64_t session_status = 1;
constexpr std::uint64_t session_start = 1;

std::string event_at(double wall_time, std::int64_t step) {
  std::string event;
  append_tag(event, event_wall_time, fixed64);
  append_fixed(event, std::bit_cast<std::uint64_t>(wall_time));
  append_tag(event, event_step, varint);
  append_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes_of(bytes));
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

template <class T>
T read_fixed(std::string_view bytes) {
  T bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  }
  return bits;
}

}  // namespace

EventFile::EventFile(std::filesystem::path file, double wall_time)
    : file_(std::move(file)), out_(file_, std::ios::binary | std::ios::trunc) {
  require_written(out_, file_);
  std::string event = event_at(wall_time, 0);
  append_text(event, event_file_version, "brain.Event:2");
  record(event);
  flush();
}

void EventFile::restart(double wall_time, std::int64_t step) {
  std::string session;
  append_tag(session, session_status, varint);
  append_varint(session, session_start);
  std::string event = event_at(wall_time, step);
  append_text(event, event_session_log, session);
  record(event);
}

void EventFile::scalars(double wall_time, std::int64_t step,
                        std::span<const std::pair<std::string, double>> values) {
  std::string summary;
  for (const auto& [name, number] : values) {
    std::string value;
    append_text(value, value_tag, name);
    append_tag(value, value_simple, fixed32);
    append_fixed(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    append_text(summary, summary_value, value);
  }
  std::string event = event_at(wall_time, step);
  append_text(event, event_summary, summary);
  record(event);
}

void EventFile::flush() {
  out_.flush();
  require_written(out_, file_);
}

void EventFile::record(const std::string& event) {
  std::string bytes;
  append_fixed(bytes, std::uint64_t{event.size()});
  append_fixed(bytes, masked_crc(bytes));
  bytes += event;
  append_fixed(bytes, masked_crc(event));
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  require_written(out_, file_);
}

std::vector<std::string> read_records(const std::string& bytes) {
  constexpr std::size_t head = 12;
  std::vector<std::string> result;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    if (rest.size() < head) fail(ErrorCode::corrupt, "an event file ends within a length");
    if (masked_crc(rest.substr(0, 8)) != read_fixed<std::uint32_t>(rest.substr(8))) {
      fail(ErrorCode::corrupt, "wrong checksum of a record's length in an event file");
    }
    const auto size = read_fixed<std::uint64_t>(rest);
    rest.remove_prefix(head);
    if (size > rest.size() || rest.size() - size < 4) {
      fail(ErrorCode::corrupt, "an event file ends within a record");
    }
    const std::string_view event = rest.substr(0, size);
    if (masked_crc(event) != read_fixed<std::uint32_t>(rest.substr(size))) {
      fail(ErrorCode::corrupt, "wrong checksum of a record in an event file");
    }
    result.emplace_back(event);
    rest.remove_prefix(size + 4);
  }
  return result;
}

}  // namespace ondine::records
