// Messages written by hand, field by field.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace ondine::test {

class Wire {
 public:
  Wire& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  Wire& block(std::uint32_t field, std::string_view content) {
    varint(std::uint64_t{field} << 3 | 2U);
    varint(content.size());
    bytes_ += content;
    return *this;
  }
  Wire& message(std::uint32_t field, const Wire& content) { return block(field, content.bytes_); }
  // A packed field of varints; negative numbers as the format has them.
  Wire& packed(std::uint32_t field, std::initializer_list<std::int64_t> values) {
    Wire content;
    for (const auto value : values) content.varint(static_cast<std::uint64_t>(value));
    return message(field, content);
  }
  template <class T>
  Wire& packed_fixed(std::uint32_t field, std::initializer_list<T> values) {
    Wire content;
    for (const T value : values) content.little_endian(value);
    return message(field, content);
  }
  Wire& fixed32(std::uint32_t field, float value) {
    varint(std::uint64_t{field} << 3 | 5U);
    little_endian(value);
    return *this;
  }
  Wire& fixed64(std::uint32_t field, double value) {
    varint(std::uint64_t{field} << 3 | 1U);
    little_endian(value);
    return *this;
  }
  Wire& raw(std::string_view text) {
    bytes_ += text;
    return *this;
  }

  const std::string& text() const { return bytes_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  template <class T>
  void little_endian(T value) {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof(T));
    if (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
    bytes_ += bytes;
  }

  std::string bytes_;
};

}  // namespace ondine::test
