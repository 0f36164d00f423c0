// Tables of numbers and categories whose columns a model takes as they are written, each as an
// input of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ondine/export.h>

namespace ondine {

class Dataset;

// How columns are read that a model takes under their own names.
struct RawTable {
  std::vector<std::string> categories;  // columns of texts; the others hold numbers
  // Columns of numbers that may lack some; a missing number is an error in others.
  std::vector<std::string> fillable;
  bool all_fillable = false;  // every column of numbers

  friend bool operator==(const RawTable&, const RawTable&) = default;
};

// Replacements of missing values.
enum class FillStatistic : std::uint8_t { mean, median };            // of the training rows
using TableFill = std::variant<FillStatistic, double, std::string>;  // or a number, or a category

// Treatment of columns; its statistics are computed from the training rows.
struct TableOptions {
  // The input of the model that takes all columns, [N, F] in floating point; empty: the only one.
  std::string input = {};
  std::vector<std::string> one_hot = {};  // categories: 1 at the position of the value, else 0
  // Categories and the sizes of the vectors that stand for their values and are trained.
  std::vector<std::pair<std::string, std::int64_t>> embed = {};
  std::vector<std::string> standardize = {};  // columns of numbers
  bool standardize_all = false;               // every column of numbers
  std::vector<std::pair<std::string, TableFill>> fill = {};
  std::optional<TableFill> fill_all = {};  // every other column of numbers; no category

  // Whether the model is to take columns by their names.
  bool is_empty() const {
    return input.empty() && one_hot.empty() && embed.empty() && standardize.empty() &&
           !standardize_all && fill.empty() && !fill_all;
  }
};

// Encoding of a column in front of a network:
//   number: (x - mean) / deviation, x being `fill` where it is NaN
//   one_hot: values.size() numbers, 1 at the position of the value
//   embedding: `size` numbers, a row of a trained matrix of 1 + values.size() rows
// A category has the code 1 + its position in `values`. A missing value, the empty text, has the
// code of `fill_value`. Code 0 is for every other text, and for a missing value without a fill: a
// one-hot row of zeros, or row 0 of the matrix.
struct TableColumn {
  enum class Kind : std::uint8_t { number, one_hot, embedding };

  std::string name;
  Kind kind = Kind::number;
  std::optional<double> fill = {};
  double mean = 0;
  double deviation = 1;
  std::vector<std::string> values = {};  // in the order of their bytes
  std::string fill_value = {};           // one of `values`; empty: none
  std::int64_t size = 0;                 // of an embedding

  bool is_category() const noexcept { return kind != Kind::number; }
  friend bool operator==(const TableColumn&, const TableColumn&) = default;
};

// The columns in the order in which the network takes them.
struct TablePlan {
  std::string input;  // see TableOptions
  std::vector<TableColumn> columns;
  std::string target;                   // column of the data; empty: none
  std::uint64_t rows = 0;               // that it was computed from
  std::string fingerprint;              // of these rows
  std::vector<std::string> notes = {};  // what a person should know

  friend bool operator==(const TablePlan&, const TablePlan&) = default;
};

// DatasetOptions::raw for data that plan_table can be asked about, or that a plan's model takes.
ONDINE_API RawTable raw_table(const TableOptions& options);
ONDINE_API RawTable raw_table(const TablePlan& plan);

// Computes vocabularies, fills, means and deviations of the training part, which was opened with
// DatasetOptions::raw. Numbers are summed in double, in the order of the rows; deviations are those
// of the population, of filled columns, and 1 for a constant column. Error(mismatch) naming the
// column that the data lack, that is named twice or for which an option has no meaning.
ONDINE_API TablePlan plan_table(const Dataset& data, const TableOptions& options);

}  // namespace ondine
