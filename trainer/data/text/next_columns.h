// Columns of rows for models of the next token, some of whose ids are labels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/text/text_columns.h"

namespace ondine::data {

// Rows of ids, each with a mark that says whether it counts as a label.
struct MarkedRows {
  explicit MarkedRows(TextEncoding encoding) : ids(std::move(encoding)) {}

  void add(std::span<const std::int64_t> row, const std::vector<bool>& marks);

  TextRows ids;
  std::vector<bool> counts;  // of the ids of all rows
  // How many ids each text of each row has; empty where a row is a text.
  std::vector<std::vector<std::uint64_t>> texts = {};
};

// A row is all ids but the last, and its labels the ids that follow each one: `ignored_label` in
// the place of those that do not count and beyond the end. Both are padded to the length of the
// input, or else to `length` (0: that of the longest).
struct NextColumns {
  std::shared_ptr<const Column> ids;
  std::shared_ptr<const Column> labels;
  std::shared_ptr<const Column> segments;  // for an input of that name; nullptr unless packed
};
NextColumns next_columns(MarkedRows rows, std::int64_t length, std::int64_t ignored_label);

}  // namespace ondine::data
