// Notes on tables that are read as they are, but look as if something else was meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ondine::data {

// The numbers of a column in the order of rows; NaN where one is missing. With a stride, every
// stride-th element from the first one on.
struct NumberColumn {
  std::string name;
  std::span<const double> numbers;
  std::size_t stride = 1;
};

// Each is empty where there is nothing to say.

// Columns that number the rows.
std::string doubt_about_order(std::span<const NumberColumn> columns);

// Columns of which float32, in which networks compute, loses what tells rows apart.
std::string doubt_about_rounding(std::span<const NumberColumn> columns);

// Values of a column that differ in the case of letters or in blanks around them alone.
std::string doubt_about(const std::string& column, std::span<const std::string> values);

// A header that looks like a row: a name is a number with a sign, a point or an exponent, or one of
// the `values` of its own column. Whole numbers are usual names of pixels and bands.
struct HeaderName {
  std::string name;
  std::span<const std::string> values;  // of a column of texts
};
std::string doubt_about_header(const std::string& file, std::span<const HeaderName> names);

}  // namespace ondine::data
