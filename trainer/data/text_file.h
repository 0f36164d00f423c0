// Files of text and of rows of text.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/open_data.h"
#include "trainer/data/table/csv.h"

namespace ondine::data {

// Calls `body` with the text of a file, without a byte order mark, and with what holds it.
// Error(corrupt) for UTF-16, UTF-32 and bytes that are no text; all get the file as context.
void with_text(const std::filesystem::path& file, const Limits& limits,
               const std::function<void(std::string_view, const SharedSource&)>& body);

// A .csv or .tsv file, in any case and also with .gz after it.
bool is_table(const std::filesystem::path& file);
bool is_json_lines(const std::filesystem::path& file);    // .jsonl
bool is_running_text(const std::filesystem::path& file);  // .txt

char separator_of(const std::filesystem::path& file);
// The rows of a .csv or .tsv file.
void read_rows(const std::filesystem::path& file, const Limits& limits, const TakeRow& take);

// How a .csv or .tsv file begins, by the parser that reads it: what tells a list of files and a
// table of texts from a table of numbers. Empty for any other file.
struct TableStart {
  std::vector<std::string> header;
  std::vector<std::string> row;
};
std::vector<TableStart> table_starts(std::span<const std::filesystem::path> files,
                                     const Limits& limits);

// Why a header of one field may be one: what its fields seem to be separated by; begins with "; ".
// Empty where there is no reason.
std::string separator_hint(const std::filesystem::path& file, const std::string& field);

}  // namespace ondine::data
