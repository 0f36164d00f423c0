#include "trainer/data/table/doubts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "core/message.h"
#include "core/text/letters.h"
#include "trainer/data/table/table_columns.h"
#include "trainer/data/table/targets.h"

namespace ondine::data {
namespace {

// Fewer rows are in order by chance.
constexpr std::size_t least_numbered = 10;
// The part of a column's deviation that float32 may round by without a note.
constexpr double most_rounding = 1e-3;
// Between these, doubles do not hold all integers apart.
constexpr double exact_doubles = 9007199254740992.0;
constexpr double largest_integer = 18446744073709551616.0;

std::size_t rows_of(const NumberColumn& column) {
  return (column.numbers.size() + column.stride - 1) / column.stride;
}

bool numbers_rows(const NumberColumn& column) {
  const std::size_t rows = rows_of(column);
  if (rows < least_numbered) return false;
  for (std::size_t i = 1; i < rows; ++i) {
    const double before = column.numbers[(i - 1) * column.stride];
    if (column.numbers[i * column.stride] - before != 1) return false;
  }
  return true;
}

bool loses_differences(const NumberColumn& column) {
  double sum = 0, squares = 0, largest = 0;
  std::size_t known = 0;
  const double base = column.numbers.empty() ? 0 : column.numbers.front();
  for (std::size_t i = 0; i < column.numbers.size(); i += column.stride) {
    const double number = column.numbers[i];
    if (std::isnan(number)) continue;
    const double shifted = number - base;
    sum += shifted;
    squares += shifted * shifted;
    largest = std::max(largest, std::abs(number));
    ++known;
  }
  if (known < 2) return false;
  if (largest > exact_doubles && largest < largest_integer) return true;
  const double mean = sum / static_cast<double>(known);
  const double variance = squares / static_cast<double>(known) - mean * mean;
  const double rounding = largest * std::numeric_limits<float>::epsilon() / 2;
  return variance > 0 && rounding > most_rounding * std::sqrt(variance);
}

std::string columns_text(const std::vector<std::string>& names) {
  return cat(names.size() == 1 ? "column " : "columns ", list_of(names));
}

std::vector<std::string> names_of(std::span<const NumberColumn> columns,
                                  bool (*holds)(const NumberColumn&)) {
  std::vector<std::string> names;
  for (const NumberColumn& column : columns) {
    if (holds(column)) names.push_back(column.name);
  }
  return names;
}

bool is_written_as_measured(const std::string& name) {
  return parse_number(name).has_value() && name.find_first_of(".eE+-") != std::string::npos;
}

}  // namespace

std::string doubt_about_order(std::span<const NumberColumn> columns) {
  const std::vector<std::string> names = names_of(columns, numbers_rows);
  if (names.empty()) return {};
  return cat(columns_text(names), names.size() == 1 ? " numbers" : " number",
             " the rows, which tells nothing about other rows (--drop leaves a column out)");
}

std::string doubt_about_rounding(std::span<const NumberColumn> columns) {
  const std::vector<std::string> names = names_of(columns, loses_differences);
  if (names.empty()) return {};
  return cat(columns_text(names), names.size() == 1 ? " has" : " have",
             " numbers whose differences float32 rounds away in part; --standardize subtracts a "
             "feature's mean first, in double precision");
}

std::string doubt_about(const std::string& column, std::span<const std::string> values) {
  std::map<std::string, std::string_view> known;
  for (const std::string& value : values) {
    const auto [other, is_new] =
        known.emplace(lower_case(std::string(trimmed(value))), std::string_view(value));
    if (is_new || other->second == value) continue;
    return cat("values ", quoted(std::string(other->second)), " and ", quoted(value), " of column ",
               quoted(column), " differ in case or blanks alone, and count as different");
  }
  return {};
}

std::string doubt_about_header(const std::string& file, std::span<const HeaderName> names) {
  const auto is_value = [](const HeaderName& one) {
    return std::find(one.values.begin(), one.values.end(), one.name) != one.values.end();
  };
  for (const HeaderName& one : names) {
    if (!is_written_as_measured(one.name) && !is_value(one)) continue;
    return cat("the first line of ", quoted(file), " is taken for the names of columns, such as ",
               quoted(one.name), "; a file without names loses its first row");
  }
  return {};
}

}  // namespace ondine::data
