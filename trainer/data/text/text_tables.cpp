// Texts with targets in .jsonl, .csv and .tsv files.
#include <algorithm>

#include "core/message.h"
#include "trainer/data/split_words.h"
#include "trainer/data/table/table_columns.h"
#include "trainer/data/table/targets.h"
#include "trainer/data/text/json_weights.h"
#include "trainer/data/text/pair_columns.h"
#include "trainer/data/text/text_columns.h"
#include "trainer/data/text/text_places.h"
#include "trainer/data/text_file.h"
#include "trainer/text/require_utf8.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* usual_text = "text";

// The columns of texts.
struct TextNames {
  std::string text;
  std::string pair;            // empty: there is one text
  bool pair_is_asked = false;  // or it is one that a file may have
};

// Both parts of a name with a comma, unless `has` finds a column that is called so.
template <class Has>
TextNames text_names(const DatasetOptions& options, const Has& has) {
  const std::string& column = options.text.column;
  if (column.empty()) return {usual_text, usual_pair, false};
  const std::size_t comma = column.find(',');
  if (comma == std::string::npos || has(column)) return {column, {}, false};
  return {column.substr(0, comma), column.substr(comma + 1), true};
}

// Name of the target in .jsonl files.
std::string target_of(const DatasetOptions& options) {
  return options.target.empty() ? "label" : options.target;
}

struct TextTable {
  explicit TextTable(const TextEncoding& encoding) : texts(encoding) {}

  bool is_empty() const noexcept { return size() == 0; }
  std::uint64_t size() const noexcept { return pairs ? pairs->size() : texts.size(); }

  TextRows texts;
  std::optional<PairRows> pairs;  // in place of these
  TextNames names = {};
  Targets targets;  // without a column where there are none
  Weights weights;  // likewise
};

class TextTableReader {
 public:
  TextTableReader(const DatasetOptions& options, const fs::path& file, TextTable& table)
      : options_(&options), table_(&table) {
    table.targets.begin(file.string());
  }

  void take_fields(std::span<const std::string> fields, std::uint64_t line) {
    if (names_.empty()) return take_header(fields);
    if (fields.size() != names_.size()) {
      fail(ErrorCode::corrupt, "line ", line, " has ", fields.size(), " fields, the header ",
           names_.size());
    }
    add_texts(fields[text_], pair_ ? &fields[*pair_] : nullptr);
    if (weights_) table_->weights.add(fields[*weights_], line);
    if (target_) add_target(fields[*target_], is_missing(fields[*target_]), line);
  }

  void take_object(const std::vector<JsonMember>& members, std::uint64_t line) {
    if (!is_open_) {
      choose_names([&](const std::string& name) { return find_member(members, name) != nullptr; });
    }
    const TextNames& names = table_->names;
    const std::string& text = require_text(members, names.text, line);
    const std::string* pair =
        names.pair.empty() ? nullptr : &require_text(members, names.pair, line);
    const std::string name = target_of(*options_);
    const JsonMember* target =
        options_->use == DataUse::inference ? nullptr : find_member(members, name);
    if (!is_open_) {
      is_open_ = true;
      const bool is_asked = !options_->target.empty() && options_->use != DataUse::inference;
      set_target(target != nullptr || is_asked ? name : std::string());
    }
    add_texts(text, pair);
    add_json_weight(table_->weights, table_->size() == 1, members, *options_, line);
    if (table_->targets.column.empty()) return;
    if (target != nullptr && target->kind == JsonMember::Kind::nested) {
      fail(ErrorCode::corrupt, "line ", line, ": ", quoted(name), " is no single value");
    }
    const bool is_absent =
        target == nullptr || (target->kind == JsonMember::Kind::other && is_missing(target->value));
    add_target(is_absent ? std::string() : target->value, is_absent, line);
  }

 private:
  // Which columns have the texts is decided once for all files of a part.
  template <class Has>
  void choose_names(const Has& has) {
    if (!table_->is_empty()) return;
    table_->names = text_names(*options_, has);
    TextNames& names = table_->names;
    if (!names.pair_is_asked && !names.pair.empty() && !has(names.pair)) names.pair.clear();
    if (!names.pair.empty() && !table_->pairs) table_->pairs.emplace(options_->text.encoding);
  }

  void add_texts(const std::string& text, const std::string* pair) {
    if (pair == nullptr) return table_->texts.add(text);
    table_->pairs->add(text, *pair);
  }

  void take_header(std::span<const std::string> fields) {
    names_.assign(fields.begin(), fields.end());
    choose_names([&](const std::string& name) {
      return std::find(names_.begin(), names_.end(), name) != names_.end();
    });
    const TextNames& texts = table_->names;
    text_ = require_column(names_, texts.text, "--text-column");
    if (!texts.pair.empty()) pair_ = require_column(names_, texts.pair, "--text-column");
    target_ = choose_target(names_, *options_, text_);
    if (pair_ && (target_ == pair_ || text_ == *pair_)) {
      fail(ErrorCode::mismatch, "column ", quoted(names_[*pair_]),
           text_ == *pair_
               ? " cannot be both texts of a pair (--text-column)"
               : " is the second text of a pair, so the target must be named (--target)");
    }
    set_target(target_ ? names_[*target_] : std::string());
    weights_ = choose_weights(names_, *options_, target_, text_);
    if (weights_) table_->weights.column = names_[*weights_];
  }

  // All files of a part have the same target, or none.
  void set_target(const std::string& name) {
    if (table_->is_empty()) table_->targets.column = name;
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
  std::vector<std::string> names_;  // of a header
  std::size_t text_ = 0;
  std::optional<std::size_t> pair_;
  std::optional<std::size_t> target_;
  std::optional<std::size_t> weights_;
  bool is_open_ = false;  // the first object was read
};

void read_table(const fs::path& file, const DatasetOptions& options, TextTable& table) {
  with_text(file, options.limits, [&](std::string_view text, const SharedSource&) {
    text::require_utf8(text);
    TextTableReader reader(options, file, table);
    if (is_json_lines(file)) {
      const TextNames names = text_names(options, [](const std::string&) { return false; });
      std::vector<std::string> keys{names.text, target_of(options)};
      for (const std::string& one : {names.pair, options.text.column}) {
        if (!one.empty()) keys.push_back(one);
      }
      if (!options.weights.empty()) keys.push_back(options.weights);
      parse_json_lines(text, keys, [&](const auto& members, std::uint64_t line) {
        reader.take_object(members, line);
      });
    } else {
      parse_csv(text, separator_of(file),
                [&](auto fields, std::uint64_t line) { reader.take_fields(fields, line); });
    }
    if (table.is_empty()) fail(ErrorCode::corrupt, "it has no texts");
  });
}

Dataset::Part part_of(TextTable table, const TargetReader* reader, const DatasetOptions& options) {
  Dataset::Part part;
  if (table.is_empty()) return part;
  part.threads = options.threads;
  const TextNames& names = table.names;
  const std::string both = names.pair.empty() ? names.text : names.text + "," + names.pair;
  part.text = TextOptions{both, options.text.length, options.text.encoding, {}};
  if (table.pairs) {
    PairColumns columns = pair_columns(names.text, *std::move(table.pairs), options.text.length);
    part.columns.push_back(std::move(columns.ids));
    part.columns.push_back(std::move(columns.types));
  } else {
    part.columns.push_back(text_column(names.text, std::move(table.texts), options.text.length));
  }
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
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::vector<std::string>& header = starts[i].header;
    if (is_json_lines(places[i])) continue;
    const auto has = [&](const std::string& name) {
      return std::find(header.begin(), header.end(), name) != header.end();
    };
    if (!has(text_names(options, has).text)) return false;
  }
  return !places.empty();
}

Parts open_text_tables(std::span<const fs::path> files, const DatasetOptions& options) {
  const SplitFiles split = split_files(files);
  TextTable train(options.text.encoding);
  TextTable validation(options.text.encoding);
  for (const fs::path& file : split.train) read_table(file, options, train);
  for (const fs::path& file : split.validation) read_table(file, options, validation);
  const TextTable& first = train.is_empty() ? validation : train;
  if (!train.is_empty() && !validation.is_empty() &&
      train.pairs.has_value() != validation.pairs.has_value()) {
    fail(ErrorCode::mismatch, "pairs of texts train and single texts validate, or the reverse");
  }
  std::optional<TargetReader> reader;
  if (!first.targets.column.empty()) reader.emplace(first.targets, options.classes);
  if (!validation.is_empty() && validation.targets.column != first.targets.column) {
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
