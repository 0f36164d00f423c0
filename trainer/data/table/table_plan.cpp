#include <ondine/table.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include <ondine/dataset.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/column.h"
#include "trainer/data/fingerprint.h"
#include "trainer/data/table/doubts.h"
#include "trainer/data/table/table_columns.h"

namespace ondine {
namespace {

using Kind = TableColumn::Kind;

template <class Value>
const Value* find(const std::vector<std::pair<std::string, Value>>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.first == name; });
  return found == list.end() ? nullptr : &found->second;
}

template <class Value>
std::vector<std::string> names_of(const std::vector<std::pair<std::string, Value>>& list) {
  std::vector<std::string> names;
  for (const auto& one : list) names.push_back(one.first);
  return names;
}

double mean_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

double median_of(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = numbers.size() / 2;
  if (numbers.size() % 2 == 1) return numbers[middle];
  return numbers[middle - 1] / 2 + numbers[middle] / 2;
}

class Planner {
 public:
  Planner(const Dataset& data, const TableOptions& options)
      : data_(data), options_(options), part_(data::PartAccess::of(data)) {}

  TablePlan plan() {
    if (!part_.raw || !part_.table || data_.rows() == 0) {
      fail(ErrorCode::mismatch,
           "the columns of a table are needed, opened with raw_table(options)");
    }
    if (part_.raw->categories != raw_table(options_).categories) {
      fail(ErrorCode::mismatch, "the table was opened for other categories than the options name");
    }
    check_names("one-hot", options_.one_hot);
    check_names("embed", names_of(options_.embed));
    check_names("standardize", options_.standardize);
    check_names("impute", names_of(options_.fill));
    TablePlan plan;
    plan.input = options_.input;
    for (const std::string& name : part_.table->features) plan.columns.push_back(plan_column(name));
    plan.target = part_.table->target;
    plan.rows = data_.rows();
    plan.fingerprint = data::fingerprint(data_);
    plan.notes = std::move(notes_);
    return plan;
  }

 private:
  void check_names(const char* option, const std::vector<std::string>& names) const {
    std::set<std::string_view> seen;
    for (const std::string& name : names) {
      if (!data::contains(part_.table->features, name)) {
        fail(ErrorCode::mismatch, option, " names ", quoted(name),
             ", which is no feature of the table");
      }
      if (!seen.insert(name).second) {
        fail(ErrorCode::mismatch, option, " names column ", quoted(name), " twice");
      }
    }
  }

  TableColumn plan_column(const std::string& name) {
    TableColumn column;
    column.name = name;
    const std::int64_t* size = find(options_.embed, name);
    const bool is_one_hot = data::contains(options_.one_hot, name);
    if (size == nullptr && !is_one_hot) {
      plan_number(column);
      return column;
    }
    if (size != nullptr && is_one_hot) {
      fail(ErrorCode::mismatch, "column ", quoted(name), " is both one-hot and an embedding");
    }
    if (size != nullptr && (*size < 1 || *size > 65536)) {
      fail(ErrorCode::mismatch, "the embedding of column ", quoted(name), " has ", *size,
           " numbers, needed: 1 to 65536");
    }
    if (data::contains(options_.standardize, name)) {
      fail(ErrorCode::mismatch, "column ", quoted(name), " holds categories, which cannot be ",
           "standardized");
    }
    column.kind = is_one_hot ? Kind::one_hot : Kind::embedding;
    column.size = is_one_hot ? 0 : *size;
    plan_category(column);
    return column;
  }

  const data::Column& stored(const std::string& name) const {
    const auto found = std::find_if(part_.columns.begin(), part_.columns.end(),
                                    [&](const auto& one) { return one->name() == name; });
    if (found == part_.columns.end()) {
      fail(ErrorCode::mismatch, "the data lack column ", quoted(name));
    }
    return **found;
  }

  void plan_category(TableColumn& column) {
    const std::vector<std::string>* texts = stored(column.name).texts();
    if (texts == nullptr) {
      fail(ErrorCode::mismatch, "column ", quoted(column.name), " was not opened as a category");
    }
    std::set<std::string_view> values;
    for (std::uint64_t row = 0; row < data_.rows(); ++row) {
      values.insert((*texts)[static_cast<std::size_t>(part_.stored(row))]);
    }
    values.erase(std::string_view());
    column.values.assign(values.begin(), values.end());
    if (column.values.empty()) {
      fail(ErrorCode::mismatch, "column ", quoted(column.name), " has no value in the training ",
           "rows; leave it out (--drop)");
    }
    add_note(data::doubt_about(column.name, column.values));
    const TableFill* fill = find(options_.fill, column.name);
    if (fill == nullptr) return;
    const auto* text = std::get_if<std::string>(fill);
    if (text == nullptr || !values.contains(*text)) {
      fail(ErrorCode::mismatch, "the fill of column ", quoted(column.name),
           " is no value of its training rows", text == nullptr ? "" : ": " + quoted(*text));
    }
    column.fill_value = *text;
  }

  void add_note(std::string note) {
    if (!note.empty()) notes_.push_back(std::move(note));
  }

  std::vector<double> numbers_of(const std::string& name) const {
    std::vector<std::uint64_t> rows(data_.rows());
    for (std::uint64_t row = 0; row < rows.size(); ++row) rows[row] = part_.stored(row);
    std::vector<double> numbers(rows.size());
    stored(name).copy(rows, {DType::float64, {}, false},
                      reinterpret_cast<std::byte*>(numbers.data()));
    return numbers;
  }

  void plan_number(TableColumn& column) {
    std::vector<double> numbers = numbers_of(column.name);
    std::vector<double> known = numbers;
    std::erase_if(known, [](double one) { return std::isnan(one); });
    set_fill(column, known);
    if (!options_.standardize_all && !data::contains(options_.standardize, column.name)) {
      add_note(data::doubt_about_rounding(std::vector<data::NumberColumn>{{column.name, numbers}}));
      return;
    }
    if (column.fill) {
      for (double& one : numbers) one = std::isnan(one) ? *column.fill : one;
    }
    column.mean = mean_of(numbers);
    double squares = 0;
    for (const double one : numbers) squares += (one - column.mean) * (one - column.mean);
    const double deviation = std::sqrt(squares / static_cast<double>(numbers.size()));
    if (!std::isfinite(column.mean) || !std::isfinite(deviation)) {
      fail(ErrorCode::mismatch, "the numbers of column ", quoted(column.name),
           " are too large for a mean and a deviation");
    }
    if (std::all_of(numbers.begin(), numbers.end(),
                    [&](double one) { return one == numbers[0]; })) {
      column.mean = numbers[0];
      notes_.push_back(cat("column ", quoted(column.name), " is constant; it becomes 0"));
    } else {
      column.deviation = deviation > 0 ? deviation : 1;
    }
  }

  void set_fill(TableColumn& column, const std::vector<double>& known) const {
    const TableFill* fill = find(options_.fill, column.name);
    if (fill == nullptr && options_.fill_all) fill = &*options_.fill_all;
    if (fill == nullptr) return;
    if (const auto* text = std::get_if<std::string>(fill)) {
      fail(ErrorCode::mismatch, "column ", quoted(column.name),
           " holds numbers, so that its fill is mean, median or a number, not ", quoted(*text));
    }
    if (const auto* number = std::get_if<double>(fill)) {
      if (!std::isfinite(*number)) {
        fail(ErrorCode::mismatch, "the fill of column ", quoted(column.name), " is ", *number);
      }
      column.fill = *number;
      return;
    }
    if (known.empty()) {
      fail(ErrorCode::mismatch, "column ", quoted(column.name),
           " has no number in the training rows, so that it has no mean or median; leave it out "
           "(--drop)");
    }
    column.fill =
        std::get<FillStatistic>(*fill) == FillStatistic::mean ? mean_of(known) : median_of(known);
  }

  const Dataset& data_;
  const TableOptions& options_;
  const Dataset::Part& part_;
  std::vector<std::string> notes_;
};

}  // namespace

RawTable raw_table(const TableOptions& options) {
  RawTable raw;
  raw.categories = options.one_hot;
  for (const auto& [name, size] : options.embed) raw.categories.push_back(name);
  for (const auto& [name, fill] : options.fill) {
    if (!data::contains(raw.categories, name)) raw.fillable.push_back(name);
  }
  raw.all_fillable = options.fill_all.has_value();
  return raw;
}

RawTable raw_table(const TablePlan& plan) {
  RawTable raw;
  for (const TableColumn& column : plan.columns) {
    if (column.is_category()) raw.categories.push_back(column.name);
    if (column.fill) raw.fillable.push_back(column.name);
  }
  return raw;
}

TablePlan plan_table(const Dataset& data, const TableOptions& options) {
  return guard_memory("plan the table", [&] { return Planner(data, options).plan(); });
}

}  // namespace ondine
