#include "trainer/data/text_file.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/data/file_names.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

// The text after a byte order mark.
std::string_view require_text(std::string_view bytes) {
  using namespace std::string_view_literals;
  for (const std::string_view mark : {"\xff\xfe\0\0"sv, "\0\0\xfe\xff"sv}) {
    if (bytes.starts_with(mark)) fail(ErrorCode::corrupt, "the text is not UTF-8 but UTF-32");
  }
  if (bytes.starts_with("\xff\xfe"sv) || bytes.starts_with("\xfe\xff"sv)) {
    fail(ErrorCode::corrupt, "the text is not UTF-8 but UTF-16");
  }
  if (bytes.starts_with("\xef\xbb\xbf"sv)) bytes.remove_prefix(3);
  const std::size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos) return bytes;
  const std::string_view before = bytes.substr(0, zero);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t in_line = zero - (before.rfind('\n') + 1);  // npos + 1 is 0
  // Every other byte of Latin letters in UTF-16 is zero.
  const std::string_view start = bytes.substr(0, 64);
  const bool is_wide =
      std::count(start.begin(), start.end(), '\0') * 3 > static_cast<std::ptrdiff_t>(start.size());
  fail(ErrorCode::corrupt, "line ", line, ", byte ", in_line + 1, ": a character U+0000 is no text",
       is_wide ? "; the text seems to be UTF-16, not UTF-8" : "");
}

}  // namespace

void with_text(const fs::path& file, const Limits& limits,
               const std::function<void(std::string_view, const SharedSource&)>& body) {
  with_data(file, limits, [&](SharedSource& source) {
    const auto bytes = source.rest();
    body(require_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), source);
  });
}

bool is_table(const fs::path& file) {
  const std::string extension = content_extension(file);
  return extension == ".csv" || extension == ".tsv";
}

bool is_json_lines(const fs::path& file) { return content_extension(file) == ".jsonl"; }

bool is_running_text(const fs::path& file) { return content_extension(file) == ".txt"; }

char separator_of(const fs::path& file) { return content_extension(file) == ".tsv" ? '\t' : ','; }

void read_rows(const fs::path& file, const Limits& limits, const TakeRow& take) {
  with_text(file, limits, [&](std::string_view text, const SharedSource&) {
    parse_csv(text, separator_of(file), take);
  });
}

std::vector<TableStart> table_starts(std::span<const fs::path> files, const Limits& limits) {
  std::vector<TableStart> starts(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!is_table(files[i])) continue;
    with_text(files[i], limits, [&](std::string_view text, const SharedSource&) {
      RowReader reader(text, separator_of(files[i]));
      if (reader.read(starts[i].header)) reader.read(starts[i].row);
    });
  }
  return starts;
}

std::string separator_hint(const fs::path& file, const std::string& field) {
  if (field.find(';') != std::string::npos) {
    return "; the file seems to be separated by semicolons: a .csv file needs commas, a .tsv file "
           "tabs";
  }
  if (separator_of(file) == ',' && field.find('\t') != std::string::npos) {
    return "; the file seems to be separated by tabs, which need the extension .tsv";
  }
  if (separator_of(file) == '\t' && field.find(',') != std::string::npos) {
    return "; the file seems to be separated by commas, which need the extension .csv";
  }
  return {};
}

}  // namespace ondine::data
