// Columns of ids of texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainer/data/column.h"

namespace ondine::data {

// Ids as they are kept: bytes in one byte each.
using StoredIds = std::variant<std::span<const unsigned char>, std::span<const std::int32_t>>;

inline std::size_t size_of(const StoredIds& ids) {
  return std::visit([](const auto& span) { return span.size(); }, ids);
}

// Ids of texts one after the other.
class TextRows {
 public:
  explicit TextRows(TextEncoding encoding) : encoding_(std::move(encoding)) {}

  void add(std::string_view text);  // UTF-8
  void add(std::span<const std::int64_t> ids);
  std::uint64_t size() const noexcept { return ends_.size(); }
  StoredIds operator[](std::uint64_t row) const;
  // The position of its first id among those of all rows.
  std::uint64_t first(std::uint64_t row) const { return row == 0 ? 0 : ends_[row - 1]; }
  const TextEncoding& encoding() const noexcept { return encoding_; }

 private:
  TextEncoding encoding_;
  std::vector<unsigned char> bytes_;
  std::vector<std::int32_t> pieces_;  // unless ids are bytes
  std::vector<std::uint64_t> ends_;
};

// A row is the ids of a text, padded or cut off to the length of the input, or else to `length` (0:
// that of the longest).
std::shared_ptr<const Column> text_column(std::string name, TextRows texts, std::int64_t length);

// Ids that stay where they are as long as the owner lives.
struct RunningText {
  std::shared_ptr<const void> owner;
  StoredIds ids;

  // Windows of `length` ids that have another id after them.
  std::uint64_t windows(std::int64_t length) const;
};

// A row is a window of one of the texts, moved to the right by `shift` ids, 0 or 1.
std::shared_ptr<const Column> window_column(std::string name, std::vector<RunningText> texts,
                                            std::int64_t length, std::size_t shift);

}  // namespace ondine::data
