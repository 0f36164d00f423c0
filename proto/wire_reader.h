// Reads the fields of a message that was scanned before (proto/wire_scan.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ondine {

// TensorProto.raw_data.
inline constexpr std::uint32_t raw_data_field = 9;

inline std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A field as it is in the bytes.
struct WireEntry {
  std::uint32_t number = 0;
  unsigned wire_type = 0;
  std::uint64_t value = 0;    // of a varint
  std::string_view content;   // of a block
  std::string_view as_it_is;  // with its tag
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ >= bytes_.size(); }

  WireEntry next() {
    WireEntry field;
    const std::size_t start = at_;
    const std::uint64_t tag = varint();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.wire_type = static_cast<unsigned>(tag & 7U);
    switch (field.wire_type) {
      case 0:
        field.value = varint();
        break;
      case 1:
        skip(8);
        break;
      case 2: {
        const std::uint64_t length = varint();
        const std::size_t first = at_;
        skip(length);
        field.content = bytes_.substr(first, at_ - first);
        break;
      }
      default:
        skip(4);
    }
    field.as_it_is = bytes_.substr(start, at_ - start);
    return field;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  void skip(std::uint64_t count) {
    at_ += static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes_.size() - at_));
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace ondine
