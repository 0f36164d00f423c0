#include "trainer/finetune/table_columns.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "trainer/data/column.h"
#include "trainer/data/table/table.h"
#include "trainer/data/table/table_columns.h"

namespace ondine::tune {
namespace {

using data::contains;
using Kind = TableColumn::Kind;

void add_all(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (!contains(names, name)) names.push_back(name);
  }
}

const data::Column& column_of(const Dataset& data, const std::string& name) {
  const auto& columns = data::PartAccess::of(data).columns;
  return **std::find_if(columns.begin(), columns.end(),
                        [&](const auto& one) { return one->name() == name; });
}

std::size_t count_values(const Dataset& data, const std::string& name) {
  const Dataset::Part& part = data::PartAccess::of(data);
  const std::vector<std::string>& texts = *column_of(data, name).texts();
  std::set<std::string_view> values;
  for (std::uint64_t row = 0; row < data.rows(); ++row) {
    values.insert(texts[static_cast<std::size_t>(part.stored(row))]);
  }
  values.erase(std::string_view());
  return values.size();
}

void encode(const Dataset& data, const std::string& name, TableOptions& table) {
  constexpr std::size_t most_one_hot = 32;
  constexpr double largest = 50;
  const std::size_t values = count_values(data, name);
  if (values <= most_one_hot) {
    table.one_hot.push_back(name);
    return;
  }
  if (values > data.rows() / 2) {
    fail(ErrorCode::mismatch, "column ", quoted(name), " has ", values, " different texts in ",
         data.rows(), " rows, which tell nothing about other rows: leave it out (--drop), read it ",
         "as a text (--text-column), or make categories of it all the same (--embed COLUMN=SIZE)");
  }
  const double size = std::min(largest, std::round(1.6 * std::pow(values, 0.56)));
  table.embed.emplace_back(name, static_cast<std::int64_t>(size));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (text.empty() ? "" : ", ") + names[i];
  }
  return names.size() > most ? cat(text, " and ", names.size() - most, " more") : text;
}

}  // namespace

std::optional<RawTable> raw_columns(std::span<const std::filesystem::path> places,
                                    const DatasetOptions& options, const TableOptions& table,
                                    bool finds) {
  if (!finds || !data::are_feature_tables(places, options)) {
    return table.is_empty() ? std::nullopt : std::optional(raw_table(table));
  }
  const RawTable found = data::find_raw_columns(places, options);
  const bool is_filled = found.fillable.empty() || options.fill;
  if (table.is_empty() && found.categories.empty() && is_filled) return {};
  RawTable raw = raw_table(table);
  add_all(raw.categories, found.categories);
  add_all(raw.fillable, found.fillable);
  std::erase_if(raw.fillable,
                [&](const std::string& name) { return contains(raw.categories, name); });
  return raw;
}

TableOptions complete_table(const Dataset& training, TableOptions table) {
  const Dataset::Part& part = data::PartAccess::of(training);
  if (!part.raw || !part.table) return table;
  const RawTable named = raw_table(table);
  for (const std::string& name : part.table->features) {
    if (contains(part.raw->categories, name)) {
      if (!contains(named.categories, name)) encode(training, name, table);
    } else if (contains(part.raw->fillable, name) && !contains(named.fillable, name) &&
               !named.all_fillable) {
      table.fill.emplace_back(name, FillStatistic::median);
    }
  }
  if (table.standardize.empty()) table.standardize_all = true;
  return table;
}

std::string describe(const TablePlan& plan) {
  std::vector<std::string> one_hot;
  std::vector<std::string> embedded;
  std::vector<std::string> filled;
  bool has_scales = false;
  for (const TableColumn& column : plan.columns) {
    if (column.kind == Kind::one_hot) {
      one_hot.push_back(cat(quoted(column.name), " (", column.values.size(), " values)"));
    } else if (column.kind == Kind::embedding) {
      embedded.push_back(cat(quoted(column.name), " (", column.values.size(), " values, ",
                             column.size, " numbers)"));
    }
    if (column.fill) filled.push_back(cat(quoted(column.name), " (", *column.fill, ")"));
    has_scales =
        has_scales || (!column.is_category() && (column.mean != 0 || column.deviation != 1));
  }
  std::string text = "columns as they are written";
  if (!one_hot.empty()) text += "; one-hot for " + listed(one_hot);
  if (!embedded.empty()) text += "; embeddings for " + listed(embedded);
  if (!filled.empty()) text += "; fills for missing numbers of " + listed(filled);
  if (has_scales) text += "; mean and deviation of columns of numbers over training rows";
  return text;
}

}  // namespace ondine::tune
