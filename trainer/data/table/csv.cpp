#include "trainer/data/table/csv.h"

#include "core/message.h"
#include "core/stop.h"

namespace ondine::data {
namespace {

// A field takes 32 bytes and more, where the text may have one byte of it.
constexpr std::size_t most_fields = std::size_t{1} << 20;

}  // namespace

bool RowReader::read(std::vector<std::string>& fields) {
  check_stop();
  while (skip_empty_line()) {
  }
  if (at_ == text_.size()) return false;
  fields.clear();
  row_line_ = line_;
  const bool has_quotes = separator_ == ',';
  while (true) {
    if (fields.size() == most_fields) {
      fail(ErrorCode::limit, "line ", row_line_, " has more than ", most_fields, " fields");
    }
    const bool is_quoted = has_quotes && at_ < text_.size() && text_[at_] == '"';
    fields.push_back(is_quoted ? read_quoted() : read_plain());
    if (at_ == text_.size()) return true;
    if (text_[at_] != separator_) break;
    ++at_;
  }
  skip_line_end();
  return true;
}

// Also a line of nothing but spaces.
bool RowReader::skip_empty_line() {
  std::size_t end = at_;
  while (end < text_.size() && text_[end] == ' ') ++end;
  if (end == text_.size()) {
    at_ = end;
    return false;
  }
  if (text_[end] != '\n' && text_[end] != '\r') return false;
  at_ = end;
  skip_line_end();
  return true;
}

void RowReader::skip_line_end() {
  if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
  ++at_;
  ++line_;
}

std::string RowReader::read_plain() {
  const std::size_t first = at_;
  while (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) ++at_;
  return std::string(text_.substr(first, at_ - first));
}

std::string RowReader::read_quoted() {
  std::string field;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') {
      ++at_;
      if (at_ == text_.size() || text_[at_] != '"') {
        require_field_end();
        return field;
      }
    }
    field += text_[at_];
    const bool ends_line =
        text_[at_] == '\n' || (text_[at_] == '\r' && !text_.substr(at_ + 1).starts_with('\n'));
    if (ends_line) ++line_;
  }
  fail(ErrorCode::corrupt, "line ", row_line_, ": a quoted field has no end");
}

void RowReader::require_field_end() const {
  if (at_ == text_.size() || text_[at_] == separator_ || at_line_end()) return;
  fail(ErrorCode::corrupt, "line ", line_, ": text follows a quoted field");
}

void parse_csv(std::string_view text, char separator, const TakeRow& row) {
  RowReader reader(text, separator);
  std::vector<std::string> fields;
  while (reader.read(fields)) row(fields, reader.line());
}

}  // namespace ondine::data
