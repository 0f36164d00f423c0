#include "trainer/data/csv.h"

#include <vector>

#include "core/message.h"

namespace ondine::data {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, char separator) : text_(text), separator_(separator) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // byte order mark
  }

  // False at the end of the text.
  bool read_row(std::vector<std::string>& fields) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) skip_line_end();
    if (at_ == text_.size()) return false;
    fields.clear();
    row_line_ = line_;
    while (true) {
      fields.push_back(at_ < text_.size() && text_[at_] == '"' ? read_quoted() : read_plain());
      if (at_ == text_.size()) return true;
      if (text_[at_] != separator_) break;
      ++at_;
    }
    skip_line_end();
    return true;
  }
  std::uint64_t row_line() const noexcept { return row_line_; }

 private:
  bool at_line_end() const { return text_[at_] == '\n' || text_[at_] == '\r'; }

  void skip_line_end() {
    if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    ++at_;
    ++line_;
  }

  std::string read_plain() {
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  std::string read_quoted() {
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '"') {
        ++at_;
        if (at_ == text_.size() || text_[at_] != '"') return end_quoted(std::move(field));
      }
      field += text_[at_];
    }
    fail(ErrorCode::corrupt, "line ", row_line_, ": a quoted field has no end");
  }

  std::string end_quoted(std::string field) const {
    if (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) {
      fail(ErrorCode::corrupt, "line ", line_, ": text follows a quoted field");
    }
    return field;
  }

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t row_line_ = 1;
};

}  // namespace

void parse_csv(std::string_view text, char separator,
               const std::function<void(std::span<const std::string>, std::uint64_t)>& row) {
  CsvReader reader(text, separator);
  std::vector<std::string> fields;
  while (reader.read_row(fields)) row(fields, reader.row_line());
}

}  // namespace ondine::data
