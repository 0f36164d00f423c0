// Writes FlatBuffers by hand, damaged ones too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ondine::test {

class FlatWriter {
 public:
  explicit FlatWriter(std::string_view identifier) {
    number(std::uint32_t{0});
    for (const char c : identifier) bytes_.push_back(static_cast<std::byte>(c));
  }

  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
  }
  // A table with these fields, each in 8 bytes; the others of the schema are absent.
  std::size_t table(std::vector<std::size_t> fields) {
    const std::size_t count = *std::ranges::max_element(fields) + 1;
    const std::size_t directory = bytes_.size();
    const auto size = static_cast<std::uint16_t>(4 + 8 * count);
    number(static_cast<std::uint16_t>(4 + 2 * count));
    number(size);
    for (std::size_t i = 0; i < count; ++i) {
      const bool present = std::ranges::find(fields, i) != fields.end();
      number(static_cast<std::uint16_t>(present ? 4 + 8 * i : 0));
    }
    const std::size_t at = bytes_.size();
    number(static_cast<std::uint32_t>(at - directory));
    bytes_.resize(at + size);
    return at;
  }
  static std::size_t field(std::size_t table, std::size_t index) { return table + 4 + 8 * index; }
  template <class T>
  void set(std::size_t at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
  }
  void refer(std::size_t at, std::size_t target) {
    set(at, static_cast<std::uint32_t>(target - at));
  }
  // A vector of `count` references, to be set; returns its place, the first is 4 bytes after it.
  std::size_t references(std::uint32_t count) {
    const std::size_t at = bytes_.size();
    number(count);
    bytes_.resize(bytes_.size() + std::size_t{4} * count);
    return at;
  }
  std::size_t end() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace ondine::test
