// Texts with targets in .jsonl, .csv and .tsv files.
#include <algorithm>

#include "core/message.h"
#include "trainer/data/split_words.h"
#include "trainer/data/table/table_columns.h"
#include "trainer/data/table/targets.h"
#include "trainer/data/text/json_weights.h"
#include "trainer/data/text/text_columns.h"
#include "trainer/data/text/text_places.h"
#include "trainer/data/text_file.h"
#include "trainer/text/require_utf8.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

std::string text_column_of(const DatasetOptions& options) {
  return options.text.column.empty() ? "text" : options.text.column;
}

// Of .jsonl files.
std::string target_of(const DatasetOptions& options) {
  return options.target.empty() ? "label" : options.target;
}

struct TextTable {
  explicit TextTable(const TextEncoding& encoding) : texts(encoding) {}

  TextRows texts;
  Targets targets;  // without a column where there are none
  Weights weights;  // likewise
};

class TextTableReader {
 public:
  TextTableReader(const DatasetOptions& options, const fs::path& file, TextTable& table)
      : options_(&options), table_(&table), column_(text_column_of(options)) {
    table.targets.begin(file.string());
  }

  void take_fields(std::span<const std::string> fields, std::uint64_t line) {
    if (names_.empty()) return take_header(fields);
    if (fields.size() != names_.size()) {
      fail(ErrorCode::corrupt, "line ", line, " has ", fields.size(), " fields, the header ",
           names_.size());
    }
    table_->texts.add(fields[text_]);
    if (weights_) table_->weights.add(fields[*weights_], line);
    if (target_) add_target(fields[*target_], is_missing(fields[*target_]), line);
  }

  void take_object(const std::vector<JsonMember>& members, std::uint64_t line) {
    const JsonMember* text = find_member(members, column_);
    if (text == nullptr || text->kind != JsonMember::Kind::text) {
      fail(ErrorCode::corrupt, "line ", line, " has no text ", quoted(column_));
    }
    const std::string name = target_of(*options_);
    const JsonMember* target =
        options_->use == DataUse::inference ? nullptr : find_member(members, name);
    if (!is_open_) {
      is_open_ = true;
      const bool is_asked = !options_->target.empty() && options_->use != DataUse::inference;
      set_target(target != nullptr || is_asked ? name : std::string());
    }
    if (text->value.find('\0') != std::string::npos) {
      fail(ErrorCode::corrupt, "line ", line, ": a character U+0000 is no text");
    }
    table_->texts.add(text->value);
    add_json_weight(table_->weights, table_->texts.size() == 1, members, *options_, line);
    if (table_->targets.column.empty()) return;
    if (target != nullptr && target->kind == JsonMember::Kind::nested) {
      fail(ErrorCode::corrupt, "line ", line, ": ", quoted(name), " is no single value");
    }
    const bool is_absent =
        target == nullptr || (target->kind == JsonMember::Kind::other && is_missing(target->value));
    add_target(is_absent ? std::string() : target->value, is_absent, line);
  }

 private:
  void take_header(std::span<const std::string> fields) {
    names_.assign(fields.begin(), fields.end());
    text_ = require_column(names_, column_, "--text-column");
    target_ = choose_target(names_, *options_, text_);
    set_target(target_ ? names_[*target_] : std::string());
    weights_ = choose_weights(names_, *options_, target_, text_);
    if (weights_) table_->weights.column = names_[*weights_];
  }

  // All files of a part have the same target, or none.
  void set_target(const std::string& name) {
    if (table_->texts.size() == 0) table_->targets.column = name;
    if (table_->targets.column == name) return;
    const auto shown = [](const std::string& one) { return one.empty() ? "nothing" : quoted(one); };
    fail(ErrorCode::mismatch, "its target is ", shown(name), ", that of ",
         quoted(table_->targets.files[0].name), " is ", shown(table_->targets.column));
  }

  void add_target(const std::string& text, bool is_missing, std::uint64_t line) {
    if (is_missing) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(table_->targets.column),
           ": the target is missing");
    }
    table_->targets.add(text, line);
  }

  const DatasetOptions* options_;
  TextTable* table_;
  std::string column_;
  std::vector<std::string> names_;  // of a header
  std::size_t text_ = 0;
  std::optional<std::size_t> target_;
  std::optional<std::size_t> weights_;
  bool is_open_ = false;  // the first object was read
};

void read_table(const fs::path& file, const DatasetOptions& options, TextTable& table) {
  with_text(file, options.limits, [&](std::string_view text, const SharedSource&) {
    text::require_utf8(text);
    TextTableReader reader(options, file, table);
    if (is_json_lines(file)) {
      std::vector<std::string> keys{text_column_of(options), target_of(options)};
      if (!options.weights.empty()) keys.push_back(options.weights);
      parse_json_lines(text, keys, [&](const auto& members, std::uint64_t line) {
        reader.take_object(members, line);
      });
    } else {
      parse_csv(text, separator_of(file),
                [&](auto fields, std::uint64_t line) { reader.take_fields(fields, line); });
    }
    if (table.texts.size() == 0) fail(ErrorCode::corrupt, "it has no texts");
  });
}

Dataset::Part part_of(TextTable table, const TargetReader* reader, const DatasetOptions& options) {
  Dataset::Part part;
  if (table.texts.size() == 0) return part;
  part.threads = options.threads;
  part.text = TextOptions{text_column_of(options), options.text.length, options.text.encoding, {}};
  part.columns.push_back(
      text_column(text_column_of(options), std::move(table.texts), options.text.length));
  add_column(part, table.weights);
  if (table.targets.column.empty()) return part;
  part.classes = reader->classes();
  part.target = table.targets.column;
  part.columns.push_back(target_column(table.targets.column, reader->read(table.targets)));
  return part;
}

}  // namespace

bool are_text_tables(std::span<const fs::path> places, std::span<const TableStart> starts,
                     const DatasetOptions& options) {
  const std::string column = text_column_of(options);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::vector<std::string>& header = starts[i].header;
    if (is_json_lines(places[i])) continue;
    if (std::find(header.begin(), header.end(), column) == header.end()) return false;
  }
  return !places.empty();
}

Parts open_text_tables(std::span<const fs::path> files, const DatasetOptions& options) {
  const SplitFiles split = split_files(files);
  TextTable train(options.text.encoding);
  TextTable validation(options.text.encoding);
  for (const fs::path& file : split.train) read_table(file, options, train);
  for (const fs::path& file : split.validation) read_table(file, options, validation);
  const TextTable& first = train.texts.size() == 0 ? validation : train;
  std::optional<TargetReader> reader;
  if (!first.targets.column.empty()) reader.emplace(first.targets, options.classes);
  if (validation.texts.size() != 0 && validation.targets.column != first.targets.column) {
    fail(ErrorCode::mismatch, "the target of ", quoted(validation.targets.files[0].name),
         " is not that of ", quoted(first.targets.files[0].name));
  }
  const TargetReader* const targets = reader ? &*reader : nullptr;
  Parts parts{part_of(std::move(train), targets, options),
              part_of(std::move(validation), targets, options)};
  add_note(parts, split.note);
  if (targets != nullptr) add_note(parts, targets->note());
  return parts;
}

}  // namespace ondine::data
