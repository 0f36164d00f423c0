// Columns of ids, padded to the length of a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/text/text_columns.h"

namespace ondine::data {

// An input [N, T] of integers of 32 or 64 bits.
bool takes_ids(const PortInfo& input);

// Elements that fill a row beside its ids.
struct RowEnd {
  std::int64_t padding = TextEncoding::padding;  // of short rows
  std::span<const std::int64_t> ending = {};     // of those that are cut off
};

// The first ids, as many as a row of the type has; the rest of the row is padding.
void write_ids(const StoredIds& ids, const RowEnd& end, const RowType& type, std::byte* to);

class IdColumn : public Column {
 public:
  using Column::Column;

  PortInfo port() const override;
  std::string describe() const override;
  void copy(std::span<const std::uint64_t> rows, const RowType& type, std::byte* to) const override;
  std::optional<std::uint64_t> ids_of(std::uint64_t row) const override;
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 protected:
  virtual std::int64_t length() const = 0;
  virtual StoredIds ids(std::uint64_t row) const = 0;
  virtual RowEnd end() const { return {}; }
};

// How long rows are where the longest decides.
class RowLength {
 public:
  // `length` ids, or (0) as many as the longest row has: `ids_of(row)` says how many each has.
  template <class IdsOf>
  RowLength(std::int64_t length, std::uint64_t rows, const IdsOf& ids_of);

  std::int64_t get() const noexcept { return length_; }
  // As Column says.
  void check_batch(std::uint64_t rows, const RowType& type) const;
  std::string note() const;

 private:
  struct Longest {
    std::uint64_t row = 0;
    std::uint64_t ids = 1;
    std::uint64_t ids_of_all = 0;
  };
  std::string padding_note() const;

  std::int64_t length_;
  std::uint64_t rows_;
  std::optional<Longest> longest_;  // where it decides the length
};

template <class IdsOf>
RowLength::RowLength(std::int64_t length, std::uint64_t rows, const IdsOf& ids_of)
    : length_(length), rows_(rows) {
  if (length > 0) return;
  longest_ = Longest{};
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t ids = ids_of(row);
    longest_->ids_of_all += ids;
    if (ids > longest_->ids) longest_->row = row, longest_->ids = ids;
  }
  length_ = static_cast<std::int64_t>(longest_->ids);
}

}  // namespace ondine::data
