// Columns of pairs of texts.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trainer/data/text/text_columns.h"

namespace ondine::data {

// Pairs as the ids of both texts, without special tokens.
class PairRows {
 public:
  // Error(unsupported) where the encoding does not say how two texts are joined.
  explicit PairRows(const TextEncoding& encoding);

  void add(const std::string& first, const std::string& second);  // UTF-8
  std::uint64_t size() const noexcept { return first_.size(); }
  const PairTemplate& joined() const noexcept { return joined_; }
  const TextRows& first() const noexcept { return first_; }
  const TextRows& second() const noexcept { return second_; }

 private:
  PairTemplate joined_;
  TextRows first_;
  TextRows second_;
};

// A row is both texts with the special tokens of the encoding, padded to the length of the input,
// or else to `length` (0: that of the longest pair). Where they are longer, the longer text is cut
// off, and both to the same length where that does not suffice, as by `longest_first` of the
// `tokenizers` package. `types`, for an input token_type_ids, has the type of each id, of padding
// 0.
struct PairColumns {
  std::shared_ptr<const Column> ids;
  std::shared_ptr<const Column> types;
};
PairColumns pair_columns(const std::string& name, PairRows rows, std::int64_t length);

// Both texts of each row by themselves, each with the special tokens of one text and rows as long
// as those of the other.
struct TextsApart {
  std::shared_ptr<const Column> first;
  std::shared_ptr<const Column> second;
};
// Of the columns of pair_columns(); nothing where there are none.
std::optional<TextsApart> texts_apart(std::span<const std::shared_ptr<const Column>> columns);
// Whether the column is of pair_columns().
bool has_pairs(const Column& column);

}  // namespace ondine::data
