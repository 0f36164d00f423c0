// Reading a FlatBuffers file of unknown origin. Every access is checked against the file's bounds,
// and all that is read together is bounded by a multiple of the file's size, so that references to
// the same place do not multiply.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_order.h"
#include "core/message.h"

namespace ondine::trainer {

class FlatBuffer {
 public:
  // The bytes must outlive it.
  explicit FlatBuffer(std::span<const std::byte> bytes);

  std::uint64_t size() const noexcept { return bytes_.size(); }
  // The bytes of a range. Throws Error(corrupt) unless it lies in the file.
  std::span<const std::byte> range(std::uint64_t at, std::uint64_t count) const;
  // Throws Error(corrupt) when more has been read than a file of this size can hold.
  void charge(std::uint64_t bytes);

  // A little-endian number.
  template <class T>
  T read(std::uint64_t at) const {
    std::array<std::byte, sizeof(T)> bytes;
    std::ranges::copy(range(at, sizeof(T)), bytes.begin());
    if constexpr (other_byte_order) std::ranges::reverse(bytes);
    return std::bit_cast<T>(bytes);
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t left_;
};

// A table. Fields are numbered in the order of the schema. All methods throw Error(corrupt).
class FlatTable {
 public:
  // The root of a file with this identifier of four characters.
  static FlatTable root(FlatBuffer& file, std::string_view identifier);

  // A field that is absent has the schema's default, 0 or nothing.
  std::int64_t int64(std::size_t field) const { return scalar<std::int64_t>(field); }
  std::int32_t int32(std::size_t field) const { return scalar<std::int32_t>(field); }
  float real(std::size_t field) const { return scalar<float>(field); }
  bool boolean(std::size_t field) const { return scalar<std::uint8_t>(field) != 0; }
  std::string text(std::size_t field) const;
  std::optional<FlatTable> table(std::size_t field) const;
  std::vector<FlatTable> tables(std::size_t field) const;
  std::vector<std::int64_t> int64s(std::size_t field) const;
  std::span<const std::byte> bytes(std::size_t field) const;

 private:
  FlatTable(FlatBuffer& file, std::uint64_t at);

  template <class T>
  T scalar(std::size_t field) const {
    const auto at = place(field, sizeof(T));
    return at ? file_->read<T>(*at) : T{};
  }
  // Where a field is stored that takes `count` bytes.
  std::optional<std::uint64_t> place(std::size_t field, std::size_t count) const;
  // Where the object is to which the field refers.
  std::optional<std::uint64_t> target(std::size_t field) const;
  struct Elements {
    std::uint64_t at = 0;
    std::uint32_t count = 0;
  };
  Elements elements(std::size_t field, std::size_t element_size) const;

  FlatBuffer* file_;
  std::uint64_t at_;
  std::uint64_t directory_ = 0;  // the vtable
  std::uint16_t directory_size_ = 0;
  std::uint16_t size_ = 0;
};

}  // namespace ondine::trainer
