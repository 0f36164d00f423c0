// TableOptions.
#include <algorithm>

#include <ondine/error.h>

#include "trainer/options/groups.h"
#include "trainer/options/parse.h"

namespace ondine::options {
namespace {

void set_standardize(TableOptions& to, const Given& given) {
  for (const std::string& name : names_in(given)) {
    if (name == "all") {
      to.standardize_all = true;
    } else {
      to.standardize.push_back(name);
    }
  }
  if (to.standardize_all && !to.standardize.empty()) {
    refuse(given.option(), "all or names of columns, not both", given.text());
  }
}

void set_embed(TableOptions& to, const Given& given) {
  for (const std::string& one : names_in(given)) {
    const auto [name, text] = name_and_value(one, given.option(), {});
    const auto size = integer(text);
    if (!size || *size < 1 || *size > 65536) {
      refuse(given.option(), "COLUMN=SIZE with a size from 1 to 65536", one);
    }
    to.embed.emplace_back(name, *size);
  }
}

TableFill fill_of(const std::string& text) {
  if (text == "mean") return FillStatistic::mean;
  if (text == "median") return FillStatistic::median;
  if (const auto value = number(text)) return *value;
  return text;
}

// After the options that name categories: a category is a text, whatever it looks like.
void set_fill(TableOptions& to, const Given& given) {
  const std::vector<std::string> categories = raw_table(to).categories;
  for (const std::string& one : names_in(given)) {
    if (one.find('=') == std::string::npos) {
      TableFill fill = fill_of(one);
      if (to.fill_all || std::holds_alternative<std::string>(fill)) {
        refuse(given.option(), "COLUMN=VALUE, or once mean, median or a number", one);
      }
      to.fill_all = std::move(fill);
      continue;
    }
    const auto [name, text] = name_and_value(one, given.option(), {});
    const bool is_category =
        std::find(categories.begin(), categories.end(), name) != categories.end();
    to.fill.emplace_back(name, is_category ? TableFill(text) : fill_of(text));
  }
}

Rows<TableOptions> make_table_rows() {
  Rows<TableOptions> rows(OptionGroup::table);
  rows.heading("Columns of a table, which the model takes by their names");
  rows.text("one-hot", "COLUMN,...", "Columns of categories that become one number for each value",
            [](TableOptions& to, const Given& given) { to.one_hot = names_in(given); })
      .repeats();
  rows.text("embed", "COLUMN=SIZE,...",
            "Columns of categories, for each of whose values a vector of this size is trained",
            set_embed)
      .repeats();
  rows.text("standardize", "COLUMN,...",
            "Columns of numbers, or all, to bring to mean 0 and deviation 1 by the training rows",
            set_standardize)
      .repeats();
  rows.text("impute", "COLUMN=VALUE,...",
            "What takes the place of missing values: mean or median of the training rows, a "
            "number or a category; without COLUMN for all other columns of numbers",
            set_fill)
      .repeats();
  rows.text("table-input", "NAME", "Input that takes the columns; the only one if absent",
            [](TableOptions& to, const Given& given) { to.input = given.text(); })
      .needs({"one-hot", "embed", "standardize", "impute"});
  return rows;
}

}  // namespace

const Rows<TableOptions>& table_rows() {
  static const Rows<TableOptions> rows = make_table_rows();
  return rows;
}

}  // namespace ondine::options
