#include "trainer/data/table/table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "core/message.h"
#include "trainer/data/split_words.h"
#include "trainer/data/table/doubts.h"
#include "trainer/data/table/string_column.h"
#include "trainer/data/table/table_columns.h"
#include "trainer/data/table/targets.h"
#include "trainer/data/text_file.h"
#include "trainer/data/weights.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

struct Table {
  std::vector<std::string> features;  // names of columns
  std::vector<std::string> unread;
  std::uint64_t rows = 0;
  std::vector<double> numbers;                  // rows x features that are no categories
  std::vector<bool> are_categories;             // one for each feature
  std::vector<std::vector<std::string>> texts;  // of each category, the rows
  Targets targets;
  Weights weights;
};

class TableReader {
 public:
  TableReader(const DatasetOptions& options, const fs::path& file)
      : options_(options), file_(file) {
    table_.targets.begin(file.string());
  }

  void take(std::span<const std::string> fields, std::uint64_t line) {
    if (names_.empty()) return take_header(fields);
    if (fields.size() != names_.size()) {
      fail(ErrorCode::corrupt, "line ", line, " has ", fields.size(), " fields, the header ",
           names_.size());
    }
    std::size_t category = 0;
    for (std::size_t f = 0; f < columns_.features.size(); ++f) {
      const std::size_t i = columns_.features[f];
      if (table_.are_categories[f]) {
        table_.texts[category++].push_back(is_missing(fields[i]) ? std::string() : fields[i]);
      } else {
        table_.numbers.push_back(number(fields[i], line, names_[i]));
      }
    }
    ++table_.rows;
    if (columns_.weights) table_.weights.add(fields[*columns_.weights], line);
    if (!columns_.target) return;
    const std::string& target = fields[*columns_.target];
    if (is_missing(target)) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(table_.targets.column),
           ": the target is missing");
    }
    table_.targets.add(target, line);
  }

  Table finish() {
    if (table_.rows == 0) fail(ErrorCode::corrupt, "no rows below a header");
    return std::move(table_);
  }

 private:
  void take_header(std::span<const std::string> fields) {
    names_.assign(fields.begin(), fields.end());
    const std::set<std::string> distinct(names_.begin(), names_.end());
    if (distinct.size() != names_.size()) fail(ErrorCode::corrupt, "two columns have one name");
    const std::string hint = names_.size() == 1 ? separator_hint(file_, names_[0]) : std::string();
    if (!hint.empty() || (options_.use != DataUse::inference && names_.size() < 2)) {
      fail(ErrorCode::mismatch, "a table needs a column of features and one of targets, it has ",
           names_.size(), hint);
    }
    columns_ = choose_columns(names_, options_);
    for (const std::size_t i : columns_.features) table_.features.push_back(names_[i]);
    for (const std::size_t i : columns_.unread) table_.unread.push_back(names_[i]);
    if (columns_.target) table_.targets.column = names_[*columns_.target];
    if (columns_.weights) table_.weights.column = names_[*columns_.weights];
    const auto is_category = [&](const std::string& name) {
      return options_.raw && contains(options_.raw->categories, name);
    };
    for (const std::string& name : table_.features) {
      table_.are_categories.push_back(is_category(name));
      if (is_category(name)) table_.texts.emplace_back();
    }
  }

  bool may_miss(const std::string& column) const {
    return options_.raw && (options_.raw->all_fillable || contains(options_.raw->fillable, column));
  }

  double number(const std::string& text, std::uint64_t line, const std::string& column) const {
    const auto value = parse_number(text);
    if (value && std::isfinite(*value)) return *value;
    if (is_missing(text)) {
      if (may_miss(column)) return std::numeric_limits<double>::quiet_NaN();
      if (options_.fill) return *options_.fill;
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(column),
           ": the number is missing; ",
           options_.raw ? "--impute COLUMN=VALUE fills it in the model"
                        : "--fill NUMBER takes its place");
    }
    fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(column), ": ", quoted(text),
         value ? " is not a finite number"
               : " is not a number; --one-hot or --embed makes categories of a column");
  }

  const DatasetOptions& options_;
  const fs::path& file_;
  std::vector<std::string> names_;
  TablePositions columns_;
  Table table_;
};

Table read_table(const fs::path& file, const DatasetOptions& options) {
  TableReader reader(options, file);
  read_rows(file, options.limits,
            [&](auto fields, std::uint64_t line) { reader.take(fields, line); });
  return with_context([&] { return reader.finish(); },
                      [&] { return "file " + quoted(file.string()); });
}

bool is_empty(const Table& table) { return table.rows == 0; }

void require_same_columns(const Table& table, const Table& other) {
  if (table.features == other.features && table.targets.column == other.targets.column &&
      table.weights.column == other.weights.column) {
    return;
  }
  fail(ErrorCode::mismatch, "the columns of ", quoted(other.targets.files[0].name),
       " are not those of ", quoted(table.targets.files[0].name));
}

void append(Table& table, Table more) {
  if (is_empty(table)) {
    table = std::move(more);
    return;
  }
  require_same_columns(table, more);
  table.rows += more.rows;
  table.numbers.insert(table.numbers.end(), more.numbers.begin(), more.numbers.end());
  for (std::size_t i = 0; i < table.texts.size(); ++i) {
    std::move(more.texts[i].begin(), more.texts[i].end(), std::back_inserter(table.texts[i]));
  }
  append(table.targets, more.targets);
  append(table.weights, more.weights);
}

std::string unread_note(const Table& table) {
  const bool is_one = table.unread.size() == 1;
  return cat(is_one ? "column " : "columns ", list_of(table.unread), " of ",
             quoted(table.targets.files[0].name), is_one ? " is" : " are", " not read");
}

// Of what is read for training.
void add_doubts(Dataset::Part& part, const Table& table, bool has_classes) {
  std::vector<HeaderName> names;
  std::vector<NumberColumn> numbers;
  std::size_t category = 0;
  const std::size_t width = table.features.size() - table.texts.size();
  for (std::size_t f = 0; f < table.features.size(); ++f) {
    names.push_back({table.features[f], {}});
    if (table.are_categories[f]) {
      names.back().values = table.texts[category++];
    } else {
      numbers.push_back(
          {table.features[f], std::span(table.numbers).subspan(numbers.size()), width});
    }
  }
  names.push_back({table.targets.column, {}});
  if (has_classes) names.back().values = table.targets.texts;
  const auto add = [&](std::string note) {
    if (!note.empty()) part.notes.push_back(std::move(note));
  };
  add(doubt_about_header(table.targets.files[0].name, names));
  add(doubt_about_order(numbers));
  if (part.raw) numbers.clear();  // plan_table() says what is rounded
  std::vector<double> targets;
  if (!has_classes) {
    for (const std::string& text : table.targets.texts) targets.push_back(*parse_number(text));
    numbers.push_back({table.targets.column, targets});
  }
  add(doubt_about_rounding(numbers));
}

// Every feature as a column of its own.
void add_raw_columns(Dataset::Part& part, const Table& table) {
  const std::size_t width = table.features.size() - table.texts.size();
  std::size_t number = 0;
  std::size_t category = 0;
  for (std::size_t f = 0; f < table.features.size(); ++f) {
    if (table.are_categories[f]) {
      part.columns.push_back(string_column(table.features[f], table.texts[category++]));
      continue;
    }
    std::vector<double> numbers;
    numbers.reserve(table.rows);
    for (std::size_t at = number; at < table.numbers.size(); at += width) {
      numbers.push_back(table.numbers[at]);
    }
    ++number;
    const Shape shape{static_cast<std::int64_t>(table.rows)};
    part.columns.push_back(
        array_column(table.features[f], Tensor::of(shape, numbers), Layout::nchw));
  }
}

Dataset::Part part_of(const Table& table, const TargetReader& reader,
                      const DatasetOptions& options) {
  Dataset::Part part;
  if (is_empty(table)) return part;
  if (options.raw) {
    add_raw_columns(part, table);
    part.raw = options.raw;
  } else {
    const Shape shape{static_cast<std::int64_t>(table.rows),
                      static_cast<std::int64_t>(table.features.size())};
    part.columns.push_back(
        array_column("features", Tensor::of(shape, table.numbers), Layout::nchw));
  }
  part.table = TableColumns{table.features, table.targets.column, options.fill};
  if (!table.unread.empty()) part.notes.push_back(unread_note(table));
  if (options.use == DataUse::inference) return part;
  part.classes = reader.classes();
  part.target = table.targets.column;
  part.columns.push_back(target_column(table.targets.column, reader.read(table.targets)));
  if (options.use == DataUse::training) add_doubts(part, table, !reader.classes().empty());
  add_column(part, table.weights);
  return part;
}

}  // namespace

bool are_tables(std::span<const fs::path> places) {
  return !places.empty() && std::all_of(places.begin(), places.end(), is_table);
}

RawTable find_raw_columns(std::span<const fs::path> files, const DatasetOptions& options) {
  RawTable raw;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (!contains(names, name)) names.push_back(name);
  };
  for (const fs::path& file : files) {
    std::vector<std::string> names;
    TablePositions columns;
    read_rows(file, options.limits, [&](auto fields, std::uint64_t) {
      if (names.empty()) {
        names.assign(fields.begin(), fields.end());
        if (names.size() > 1) columns = choose_columns(names, options);
        return;
      }
      if (fields.size() != names.size()) return;  // which reading refuses
      for (const std::size_t i : columns.features) {
        if (is_missing(fields[i])) {
          add(raw.fillable, names[i]);
        } else if (!parse_number(fields[i])) {
          add(raw.categories, names[i]);
        }
      }
    });
  }
  std::erase_if(raw.fillable,
                [&](const std::string& name) { return contains(raw.categories, name); });
  return raw;
}

Parts open_tables(std::span<const fs::path> files, const DatasetOptions& options) {
  const SplitFiles split = split_files(files);
  Table train;
  Table validation;
  for (const fs::path& file : split.train) append(train, read_table(file, options));
  for (const fs::path& file : split.validation) append(validation, read_table(file, options));
  if (!is_empty(train) && !is_empty(validation)) require_same_columns(train, validation);
  const TargetReader reader((is_empty(train) ? validation : train).targets, options.classes);
  Parts parts{part_of(train, reader, options), part_of(validation, reader, options)};
  add_note(parts, split.note);
  add_note(parts, reader.note());
  return parts;
}

}  // namespace ondine::data
