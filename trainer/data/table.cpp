#include "trainer/data/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/message.h"
#include "trainer/data/csv.h"
#include "trainer/data/open_data.h"
#include "trainer/data/split_words.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

struct Table {
  std::vector<std::string> features;  // names of columns
  std::string target;
  std::vector<double> numbers;       // rows x features
  std::vector<std::string> targets;  // as written
  std::vector<std::uint64_t> lines;
  std::string file;
};

template <class Number>
std::optional<Number> parse(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

bool is_missing(std::string_view text) {
  for (const char* known : {"", "NA", "N/A", "NaN", "nan", "null", "NULL"}) {
    if (text == known) return true;
  }
  return false;
}

class TableReader {
 public:
  TableReader(const DatasetOptions& options, std::string file) : options_(options) {
    table_.file = std::move(file);
  }

  void take(std::span<const std::string> fields, std::uint64_t line) {
    if (names_.empty()) return take_header(fields);
    if (fields.size() != names_.size()) {
      fail(ErrorCode::corrupt, "line ", line, " has ", fields.size(), " fields, the header ",
           names_.size());
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i != target_) table_.numbers.push_back(number(fields[i], line, names_[i]));
    }
    if (is_missing(fields[target_])) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(names_[target_]),
           ": the target is missing");
    }
    table_.targets.push_back(fields[target_]);
    table_.lines.push_back(line);
  }

  Table finish() {
    if (table_.targets.empty()) fail(ErrorCode::corrupt, "no rows below a header");
    return std::move(table_);
  }

 private:
  void take_header(std::span<const std::string> fields) {
    names_.assign(fields.begin(), fields.end());
    const std::set<std::string> distinct(names_.begin(), names_.end());
    if (distinct.size() != names_.size()) fail(ErrorCode::corrupt, "two columns have one name");
    if (names_.size() < 2) {
      fail(ErrorCode::mismatch, "a table needs a column of features and one of targets, it has ",
           names_.size());
    }
    target_ = names_.size() - 1;
    if (!options_.target.empty()) {
      const auto found = std::find(names_.begin(), names_.end(), options_.target);
      if (found == names_.end()) {
        fail(ErrorCode::mismatch, "there is no column ", quoted(options_.target), " (--target)");
      }
      target_ = static_cast<std::size_t>(found - names_.begin());
    }
    table_.target = names_[target_];
    table_.features = names_;
    table_.features.erase(table_.features.begin() + static_cast<std::ptrdiff_t>(target_));
  }

  double number(const std::string& text, std::uint64_t line, const std::string& column) const {
    if (is_missing(text)) {
      if (options_.fill) return *options_.fill;
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(column),
           ": the number is missing; --fill NUMBER takes its place");
    }
    const auto value = parse<double>(text);
    if (!value) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(column), ": ", quoted(text),
           " is not a number");
    }
    return *value;
  }

  const DatasetOptions& options_;
  std::vector<std::string> names_;
  std::size_t target_ = 0;
  Table table_;
};

Table read_table(const fs::path& file, const DatasetOptions& options) {
  Table table;
  with_data(file, options.limits, [&](Source& source) {
    std::string text(static_cast<std::size_t>(source.size()), '\0');
    source.read(std::as_writable_bytes(std::span(text.data(), text.size())));
    TableReader reader(options, file.string());
    parse_csv(text, file.extension() == ".tsv" ? '\t' : ',',
              [&](auto fields, std::uint64_t line) { reader.take(fields, line); });
    table = reader.finish();
  });
  return table;
}

void append(Table& table, Table more) {
  if (table.targets.empty()) {
    table = std::move(more);
    return;
  }
  if (table.features != more.features || table.target != more.target) {
    fail(ErrorCode::mismatch, "the columns of ", quoted(more.file), " are not those of ",
         quoted(table.file));
  }
  table.numbers.insert(table.numbers.end(), more.numbers.begin(), more.numbers.end());
  table.targets.insert(table.targets.end(), more.targets.begin(), more.targets.end());
  table.lines.insert(table.lines.end(), more.lines.begin(), more.lines.end());
}

// All values as numbers, or nothing.
template <class Number>
std::optional<std::vector<Number>> parse_all(const std::vector<std::string>& texts) {
  std::vector<Number> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) {
    const auto value = parse<Number>(text);
    if (!value) return {};
    result.push_back(*value);
  }
  return result;
}

enum class TargetKind { integers, numbers, classes };

TargetKind kind_of(const Table& table) {
  if (parse_all<std::int64_t>(table.targets)) return TargetKind::integers;
  return parse_all<double>(table.targets) ? TargetKind::numbers : TargetKind::classes;
}

std::vector<std::int64_t> positions(const Table& table, const std::vector<std::string>& classes) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < table.targets.size(); ++i) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), table.targets[i]);
    if (found == classes.end() || *found != table.targets[i]) {
      fail(ErrorCode::mismatch, "file ", quoted(table.file), ", line ", table.lines[i], ": class ",
           quoted(table.targets[i]), " is none of the training data");
    }
    result.push_back(found - classes.begin());
  }
  return result;
}

Tensor target_tensor(const Table& table, TargetKind kind, const std::vector<std::string>& classes) {
  const Shape rows{static_cast<std::int64_t>(table.targets.size())};
  const auto require = [&](const auto& values) {
    if (!values) {
      fail(ErrorCode::mismatch, "column ", quoted(table.target), " of ", quoted(table.file),
           " holds other values than in the training data");
    }
    return Tensor::of(rows, *values);
  };
  if (kind == TargetKind::integers) return require(parse_all<std::int64_t>(table.targets));
  if (kind == TargetKind::numbers) return require(parse_all<double>(table.targets));
  return Tensor::of(rows, positions(table, classes));
}

Dataset::Part part_of(const Table& table, TargetKind kind,
                      const std::vector<std::string>& classes) {
  Dataset::Part part;
  if (table.targets.empty()) return part;
  const Shape shape{static_cast<std::int64_t>(table.targets.size()),
                    static_cast<std::int64_t>(table.features.size())};
  part.classes = classes;
  part.columns.push_back(array_column("features", Tensor::of(shape, table.numbers), Layout::nchw));
  part.columns.push_back(
      array_column(table.target, target_tensor(table, kind, classes), Layout::nchw));
  return part;
}

}  // namespace

bool are_tables(std::span<const fs::path> places) {
  return !places.empty() && std::all_of(places.begin(), places.end(), [](const fs::path& place) {
    return place.extension() == ".csv" || place.extension() == ".tsv";
  });
}

Parts open_tables(std::span<const fs::path> files, const DatasetOptions& options) {
  Table train;
  Table validation;
  for (const fs::path& file : files) {
    std::string stem = file.stem().string();
    append(cut_split(stem) == Split::validation ? validation : train, read_table(file, options));
  }
  const Table& first = train.targets.empty() ? validation : train;
  if (!train.targets.empty() && !validation.targets.empty() &&
      (train.features != validation.features || train.target != validation.target)) {
    fail(ErrorCode::mismatch, "the columns of ", quoted(validation.file), " are not those of ",
         quoted(train.file));
  }
  const TargetKind kind = kind_of(first);
  std::vector<std::string> classes;
  if (kind == TargetKind::classes) {
    const std::set<std::string> distinct(first.targets.begin(), first.targets.end());
    classes.assign(distinct.begin(), distinct.end());
  }
  return {part_of(train, kind, classes), part_of(validation, kind, classes)};
}

}  // namespace ondine::data
