#include "trainer/data/text/next_tables.h"

#include <algorithm>
#include <array>

#include "core/message.h"
#include "trainer/data/split_words.h"
#include "trainer/data/text/conversation.h"
#include "trainer/data/text/json_lines.h"
#include "trainer/data/text/json_weights.h"
#include "trainer/data/text/next_columns.h"
#include "trainer/data/text/pack_rows.h"
#include "trainer/data/text/passage.h"
#include "trainer/data/text/text_places.h"
#include "trainer/data/text_file.h"
#include "trainer/text/require_utf8.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

std::string or_else(const std::string& name, const char* usual) {
  return name.empty() ? usual : name;
}

// Names of the members that hold a row.
struct Names {
  explicit Names(const TextOptions& options)
      : text(or_else(options.column, "text")),
        prompt(or_else(options.next.prompt, "prompt")),
        completion(or_else(options.next.completion, "completion")),
        messages(or_else(options.next.messages, "messages")) {}

  std::vector<std::string> all() const { return {text, prompt, completion, messages}; }
  // "'prompt' and 'completion'"
  std::string of(NextTokenRows rows) const {
    if (rows == NextTokenRows::messages) return quoted(messages);
    return rows == NextTokenRows::text ? quoted(text)
                                       : quoted(prompt) + " and " + quoted(completion);
  }

  std::string text;
  std::string prompt;
  std::string completion;
  std::string messages;
};

// Kind of row that an object holds. Error(mismatch) if that is ambiguous.
std::optional<NextTokenRows> rows_of(std::span<const JsonMember> members, const Names& names,
                                     const DatasetOptions& options, std::uint64_t line) {
  const auto has = [&](const std::string& name) { return find_member(members, name) != nullptr; };
  const bool is_open = options.use == DataUse::inference;
  std::vector<NextTokenRows> found;
  if (has(names.text)) found.push_back(NextTokenRows::text);
  if (has(names.prompt) && (is_open || has(names.completion))) {
    found.push_back(NextTokenRows::prompt);
  }
  if (has(names.messages)) found.push_back(NextTokenRows::messages);
  if (found.empty()) return {};
  const auto known = options.text.next.rows;
  if (known && std::find(found.begin(), found.end(), *known) != found.end()) return known;
  if (found.size() == 1) return found[0];
  fail(ErrorCode::mismatch, "line ", line, " has ", names.of(found[0]), " and ", names.of(found[1]),
       ", of which one can be the row: name a member that is not there for the other one "
       "(--text-column, --prompt-column, --messages-column)");
}

struct NextTable {
  explicit NextTable(const TextEncoding& encoding) : rows(encoding) {}

  MarkedRows rows;
  Weights weights;
  std::uint64_t read = 0;
  std::uint64_t cut = 0;
  std::uint64_t without_labels = 0;
};

class NextTableReader {
 public:
  NextTableReader(const DatasetOptions& options, NextTokenRows kind, NextTable& table)
      : options_(&options), names_(options.text), kind_(kind), table_(&table) {
    if (kind != NextTokenRows::messages) return;
    const std::string& chat = options.text.next.chat_template;
    if (chat.empty()) {
      fail(ErrorCode::mismatch, "conversations need a template (--chat-template)");
    }
    chat_ = ChatTemplate::from_text(chat);
  }

  void take(std::span<const JsonMember> members, std::uint64_t line) {
    const std::optional<NextTokenRows> kind = rows_of(members, names_, *options_, line);
    if (kind != kind_) {
      fail(ErrorCode::mismatch, "line ", line, " has ",
           kind ? names_.of(*kind) + ", the rows before it have " : "no ", names_.of(kind_));
    }
    const bool is_first = table_->read++ == 0;
    add_json_weight(table_->weights, is_first, members, *options_, line);
    if (options_->use == DataUse::inference) return add_beginning(members, line);
    add(encode_passage(passage_of(members, line), options_->text.encoding, loss_on()));
  }

 private:
  LossOn loss_on() const { return options_->text.next.loss_on.value_or(LossOn::answer); }

  template <class Read>
  auto with_messages(std::span<const JsonMember> members, std::uint64_t line,
                     const Read& read) const {
    const JsonMember* messages = find_member(members, names_.messages);
    if (messages->kind != JsonMember::Kind::nested) {
      fail(ErrorCode::corrupt, "line ", line, ": ", quoted(names_.messages), " is no list");
    }
    return with_context([&] { return read(messages->value, *chat_); },
                        [&] { return cat("line ", line, ", ", quoted(names_.messages)); });
  }

  Passage passage_of(std::span<const JsonMember> members, std::uint64_t line) const {
    if (kind_ == NextTokenRows::text) {
      const std::string& text = require_text(members, names_.text, line);
      return {text, {{0, text.size()}}};
    }
    if (kind_ == NextTokenRows::messages) {
      return with_messages(members, line, passage_of_messages);
    }
    const std::string& prompt = require_text(members, names_.prompt, line);
    std::string text = prompt + require_text(members, names_.completion, line);
    const std::size_t end = text.size();
    return {std::move(text), {{prompt.size(), end}}};
  }

  void add_beginning(std::span<const JsonMember> members, std::uint64_t line) {
    const TextEncoding& encoding = options_->text.encoding;
    if (kind_ == NextTokenRows::messages) {
      const std::string text = with_messages(members, line, beginning_of_messages);
      return table_->rows.ids.add(encode_bare(text, encoding));
    }
    const bool is_text = kind_ == NextTokenRows::text;
    const std::string& text = require_text(members, is_text ? names_.text : names_.prompt, line);
    table_->rows.ids.add(encoding.encode_beginning(text));
  }

  void add(MarkedIds row) {
    const auto length = static_cast<std::size_t>(options_->text.length);
    if (length > 0 && row.ids.size() > length + 1) {
      ++table_->cut;
      row.ids.resize(length + 1);
      row.counts.resize(length + 1);
    }
    const bool has_label =
        row.counts.size() > 1 &&
        std::find(row.counts.begin() + 1, row.counts.end(), true) != row.counts.end();
    if (has_label) return table_->rows.add(row.ids, row.counts);
    ++table_->without_labels;
    if (!table_->weights.column.empty()) table_->weights.values.pop_back();
  }

  const DatasetOptions* options_;
  Names names_;
  NextTokenRows kind_;
  NextTable* table_;
  std::optional<ChatTemplate> chat_;
};

void read_table(const fs::path& file, const DatasetOptions& options, NextTokenRows kind,
                NextTable& table) {
  with_text(file, options.limits, [&](std::string_view text, const SharedSource&) {
    text::require_utf8(text);
    NextTableReader reader(options, kind, table);
    std::vector<std::string> keys = Names(options.text).all();
    if (!options.weights.empty()) keys.push_back(options.weights);
    parse_json_lines(text, keys,
                     [&](const auto& members, std::uint64_t line) { reader.take(members, line); });
    if (table.read == 0) fail(ErrorCode::corrupt, "it has no texts");
  });
}

void say_left_out(Dataset::Part& part, const NextTable& table, std::int64_t length) {
  const std::string within = length > 0 ? cat(" within ", length, " ids") : std::string();
  if (table.rows.ids.size() == 0) {
    fail(ErrorCode::mismatch, "no row has a token to learn", within,
         length > 0 ? "; --text-length N makes rows longer" : "");
  }
  if (table.cut > 0) {
    part.notes.push_back(
        cat(table.cut, " of ", table.read, " rows are cut off after ", length, " ids"));
  }
  if (table.without_labels > 0) {
    part.notes.push_back(cat(table.without_labels, " of ", table.read,
                             " rows are left out: they have no token to learn", within));
  }
}

void pack(Dataset::Part& part, NextTable& table, std::int64_t length) {
  if (length <= 0) {
    fail(
        ErrorCode::mismatch,
        "packing (--pack) needs the number of ids of a row: --text-length N (TextOptions::length)");
  }
  if (!table.weights.column.empty()) {
    fail(ErrorCode::mismatch, "rows of several texts (--pack) have no weights of their own (",
         quoted(table.weights.column), ")");
  }
  const std::uint64_t texts = table.rows.ids.size();
  table.rows = pack_rows(table.rows, length);
  part.notes.push_back(
      cat(texts, " texts are packed into ", table.rows.ids.size(), " rows of ", length, " ids"));
}

Dataset::Part part_of(NextTable table, NextTokenRows kind, const DatasetOptions& options) {
  Dataset::Part part;
  if (table.read == 0) return part;
  part.threads = options.threads;
  part.text = options.text;
  part.text->next.rows = kind;
  if (kind != NextTokenRows::text) {
    part.text->next.loss_on = options.text.next.loss_on.value_or(LossOn::answer);
  }
  add_column(part, table.weights);
  const std::int64_t length = options.text.length;
  if (options.use == DataUse::inference) {
    part.columns.push_back(text_column("text", std::move(table.rows.ids), length));
    return part;
  }
  say_left_out(part, table, length);
  part.target = "label";
  part.opened.predicts_next = true;
  if (options.text.next.pack) pack(part, table, length);
  NextColumns columns =
      next_columns(std::move(table.rows), length, options.text.next.ignored_label);
  part.columns.push_back(std::move(columns.ids));
  part.columns.push_back(std::move(columns.labels));
  if (columns.segments) part.columns.push_back(std::move(columns.segments));
  return part;
}

// Whether the object is a text of a class, one of a pair, or one that inference reads as it is.
bool is_plain_text(std::span<const JsonMember> members, const DatasetOptions& options) {
  if (options.text.next.rows) return false;
  if (options.use == DataUse::inference || !options.target.empty()) return true;
  if (options.text.column.empty() && find_member(members, usual_pair) != nullptr) return true;
  return find_member(members, "label") != nullptr;
}

void require_packing_effect(const Dataset& data, const DatasetOptions& options) {
  if (!options.text.next.pack) return;
  const bool is_learnt = options.use != DataUse::inference;
  if (is_learnt && data.text() && data.text()->next.rows) return;
  fail(ErrorCode::mismatch,
       "packing (--pack) has an effect on rows of .jsonl files that models of the next token learn "
       "from, which the data are not");
}

}  // namespace

std::optional<NextTokenRows> next_token_rows(std::span<const fs::path> places,
                                             const DatasetOptions& options) {
  if (places.empty() || !std::all_of(places.begin(), places.end(), is_json_lines)) return {};
  std::optional<NextTokenRows> rows;
  with_text(places[0], options.limits, [&](std::string_view text, const SharedSource&) {
    text::require_utf8(text);
    const Names names(options.text);
    std::vector<std::string> keys = names.all();
    keys.insert(keys.end(), {"label", usual_pair});
    const std::size_t first = std::min(text.find_first_not_of("\r\n\t "), text.size());
    const std::string_view line = text.substr(0, text.find_first_of("\r\n", first));
    parse_json_lines(line, keys, [&](const auto& members, std::uint64_t number) {
      const bool has_text = find_member(members, names.text) != nullptr;
      if (has_text && is_plain_text(members, options)) return;
      rows = rows_of(members, names, options, number);
    });
  });
  return rows;
}

void require_next_effect(const Dataset& data, const DatasetOptions& options) {
  require_packing_effect(data, options);
  const NextTokenOptions& next = options.text.next;
  if (next.rows) return;  // a model's record says them
  const bool is_learnt = options.use != DataUse::inference;
  const auto rows = data.text() ? data.text()->next.rows : std::nullopt;
  const auto refuse_unless = [&](bool has_effect, const char* what, const char* needed) {
    if (has_effect) return;
    fail(ErrorCode::mismatch, what, " has an effect on rows of a .jsonl file with ", needed,
         ", which the data are not");
  };
  if (rows && is_learnt && !options.target.empty()) {
    fail(ErrorCode::mismatch, "the target ", quoted(options.target),
         " (--target) has no effect on rows whose labels are their own next tokens");
  }
  if (next.loss_on && !is_learnt) {
    fail(ErrorCode::mismatch, "nothing is learnt from these data, so that --loss-on has no effect");
  }
  const bool has_prompts = rows == NextTokenRows::prompt;
  const bool has_messages = rows == NextTokenRows::messages;
  constexpr const char* prompts = "a prompt and a completion";
  constexpr const char* messages = "messages";
  refuse_unless(!next.loss_on || has_prompts || has_messages, "which tokens are learnt (--loss-on)",
                "a prompt and a completion or messages");
  refuse_unless(next.prompt.empty() || has_prompts, "the name of the prompt (--prompt-column)",
                prompts);
  refuse_unless(next.completion.empty() || (has_prompts && is_learnt),
                "the name of the completion (--completion-column)", prompts);
  refuse_unless(next.messages.empty() || has_messages,
                "the name of the messages (--messages-column)", messages);
  refuse_unless(next.chat_template.empty() || has_messages,
                "the template of conversations (--chat-template)", messages);
}

Parts open_next_tables(std::span<const fs::path> files, const DatasetOptions& options,
                       NextTokenRows rows) {
  const SplitFiles split = split_files(files);
  NextTable train(options.text.encoding);
  NextTable validation(options.text.encoding);
  for (const fs::path& file : split.train) read_table(file, options, rows, train);
  for (const fs::path& file : split.validation) read_table(file, options, rows, validation);
  Parts parts{part_of(std::move(train), rows, options),
              part_of(std::move(validation), rows, options)};
  add_note(parts, split.note);
  return parts;
}

}  // namespace ondine::data
