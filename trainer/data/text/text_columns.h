// Columns of ids of texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/column.h"

namespace ondine::data {

// Texts one after the other.
class TextRows {
 public:
  void add(std::string_view text);
  std::uint64_t size() const noexcept { return ends_.size(); }
  std::string_view operator[](std::uint64_t row) const;

 private:
  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

// A row is the ids of a text, padded or cut off to the length of the input, or else to `length` (0:
// that of the longest). All texts must be UTF-8.
std::shared_ptr<const Column> text_column(std::string name, TextRows texts, std::int64_t length);

// UTF-8 that stays where it is as long as the owner lives.
struct MappedText {
  std::shared_ptr<void> owner;
  std::span<const std::byte> bytes;

  // Windows of `length` ids that have another id behind them.
  std::uint64_t windows(std::int64_t length) const;
};

// A row is a window of one of the texts, moved to the right by `shift` ids, 0 or 1.
std::shared_ptr<const Column> window_column(std::string name, std::vector<MappedText> texts,
                                            std::int64_t length, std::size_t shift);

}  // namespace ondine::data
