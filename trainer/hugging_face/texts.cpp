#include "trainer/hugging_face/texts.h"

#include <algorithm>
#include <span>
#include <utility>

#include <ondine/chat.h>
#include <ondine/text.h>

#include "core/message.h"
#include "trainer/hugging_face/read_text.h"

namespace ondine::hugging_face {
namespace {

constexpr const char* tokenizer_file = "tokenizer.json";
constexpr const char* config_file = "tokenizer_config.json";
constexpr const char* template_file = "chat_template.jinja";
constexpr std::uint64_t most_text_bytes = std::uint64_t{64} << 20;

// Runs `read`; what is not understood becomes a note instead of an error.
template <class Read>
bool try_reading(const char* what, std::vector<std::string>& notes, Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::corrupt) throw;
    notes.push_back(cat(what, " is left out: ", error.what()));
    return false;
  }
}

std::vector<std::int64_t> end_ids_of(const Config& config) {
  const graph::JsonValue* ids = config.find("eos_token_id");
  using Kind = graph::JsonValue::Kind;
  if (ids == nullptr) return {};
  if (ids->kind == Kind::integer) return {ids->integer};
  std::vector<std::int64_t> result;
  for (const graph::JsonValue& id : ids->items) {
    if (id.kind == Kind::integer) result.push_back(id.integer);
  }
  return result;
}

// Notes end ids that the tokenizer does not know: names of tokens tell which of them end a text
// (docs/generate.md).
void note_other_ends(const TextEncoding& encoding, const Config& config,
                     std::vector<std::string>& notes) {
  for (const std::int64_t id : end_ids_of(config)) {
    if (std::ranges::find(encoding.end_ids(), id) != encoding.end_ids().end()) continue;
    notes.push_back(cat("the token ", id, " (eos_token_id) does not end a text that is generated: ",
                        "it is none of the end tokens of tokenizer.json"));
  }
}

void read_tokenizer(const std::filesystem::path& folder, const Config& config, bool is_decoder,
                    FolderTexts& texts) {
  if (!std::filesystem::exists(folder / tokenizer_file)) {
    texts.notes.push_back("there is no tokenizer.json; texts need --tokenizer");
    return;
  }
  try_reading(tokenizer_file, texts.notes, [&] {
    std::string content = read_text(folder / tokenizer_file, most_text_bytes);
    const TextEncoding encoding =
        TextEncoding::tokenizer_json(std::as_bytes(std::span(std::as_const(content))));
    texts.record.text.encoding = encoding.name();
    texts.record.text.pieces = std::move(content);
    texts.padding = encoding.padding_id();
    if (is_decoder) note_other_ends(encoding, config, texts.notes);
  });
}

void read_template(const std::filesystem::path& folder, FolderTexts& texts) {
  const auto keep = [&](const char* file, auto make) {
    try_reading(file, texts.notes, [&] {
      texts.record.text.chat_template = make(read_text(folder / file, most_text_bytes)).text();
    });
  };
  if (std::filesystem::exists(folder / template_file)) {
    keep(template_file, [](const std::string& text) { return ChatTemplate::from_text(text); });
    return;
  }
  if (!std::filesystem::exists(folder / config_file)) return;
  try {
    keep(config_file,
         [](const std::string& text) { return ChatTemplate::from_tokenizer_config(text); });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;  // it has none
  }
}

// In the order of their numbers; none where the numbers are not 0, 1, ...
std::vector<std::string> labels_of(const Config& config) {
  const graph::JsonValue* labels = config.find("id2label");
  if (labels == nullptr) return {};
  std::vector<std::string> names(labels->items.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const graph::JsonValue* label = labels->find(std::to_string(i));
    if (label == nullptr || label->kind != graph::JsonValue::Kind::text) return {};
    names[i] = label->text;
  }
  return names;
}

}  // namespace

FolderTexts read_texts(const std::filesystem::path& folder, const Config& config, bool is_decoder,
                       bool classifies) {
  FolderTexts texts;
  read_tokenizer(folder, config, is_decoder, texts);
  if (is_decoder && !texts.record.text.encoding.empty()) read_template(folder, texts);
  if (classifies) texts.record.classes = labels_of(config);
  return texts;
}

}  // namespace ondine::hugging_face
