// Text in rows of separated fields (RFC 4180 and text/tab-separated-values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ondine::data {

// Gives the fields and the line (from 1) where they begin.
using TakeRow = std::function<void(std::span<const std::string>, std::uint64_t)>;

// Reads row by row. Lines end with LF, CR LF or CR; empty lines are skipped. Between commas a field
// in double quotes may hold separators, line ends and, doubled, quotes; between tabs a quote is a
// letter.
class RowReader {
 public:
  // separator: ',' or '\t'.
  RowReader(std::string_view text, char separator) : text_(text), separator_(separator) {}

  // False at the end of the text. Error(corrupt) that names the line for a quote without an end or
  // text next to a quoted field, Error(limit) for a row of too many fields.
  bool read(std::vector<std::string>& fields);
  // Where the last row begins.
  std::uint64_t line() const noexcept { return row_line_; }

 private:
  bool skip_empty_line();
  bool at_line_end() const { return text_[at_] == '\n' || text_[at_] == '\r'; }
  void skip_line_end();
  std::string read_plain();
  std::string read_quoted();
  void require_field_end() const;

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t row_line_ = 1;
};

void parse_csv(std::string_view text, char separator, const TakeRow& row);

}  // namespace ondine::data
