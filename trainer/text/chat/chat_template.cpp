#include <ondine/chat.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/record/json_value.h"
#include "trainer/data/open_data.h"
#include "trainer/text/chat/evaluator.h"
#include "trainer/text/chat/parser.h"
#include "trainer/text/chat/template.h"
#include "trainer/text/require_utf8.h"

namespace ondine {
namespace {

using graph::JsonValue;

std::string jinja_text(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// Template of the config; of a list of templates with names, the one called "default".
const std::string& template_in(const JsonValue& config) {
  const JsonValue* found = config.find("chat_template");
  if (found != nullptr && found->kind == JsonValue::Kind::list) {
    const JsonValue* chosen = nullptr;
    for (const JsonValue& one : found->items) {
      const JsonValue* name = one.find("name");
      if (name != nullptr && name->text == "default") chosen = one.find("template");
    }
    found = chosen;
  }
  if (found == nullptr || found->kind != JsonValue::Kind::text) {
    fail(ErrorCode::not_found, "it has no text 'chat_template' (or none called 'default')");
  }
  return found->text;
}

// Blocks that set the tokens that the template may show.
std::string tokens_in(const JsonValue& config) {
  std::string result;
  for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    const JsonValue* token = config.find(name);
    if (token != nullptr && token->kind == JsonValue::Kind::object) token = token->find("content");
    if (token == nullptr || token->kind != JsonValue::Kind::text) continue;
    result += cat("{% set ", name, " = ", jinja_text(token->text), " %}");
  }
  // The line end is no text after a block.
  return result.empty() ? result : result + "\n";
}

}  // namespace

namespace text::chat {

Template::Template(std::string text) : text_(std::move(text)) {
  require_utf8(text_);
  block_ = parse_template(text_);
}

std::string Template::render(const Value& messages, bool add_generation_prompt) const {
  return chat::render(block_, {{"messages", messages},
                               {"add_generation_prompt", Value::of(add_generation_prompt)}});
}

}  // namespace text::chat

ChatTemplate::ChatTemplate(std::shared_ptr<const text::chat::Template> content)
    : template_(std::move(content)) {}

ChatTemplate ChatTemplate::named(std::string_view name) {
  if (const char* text = text::chat::named_template(name)) return from_text(text);
  std::string known;
  for (const std::string& one : names()) known += (known.empty() ? "" : ", ") + one;
  fail(ErrorCode::not_found, "there is no chat template ", quoted(name), "; known are ", known);
}

ChatTemplate ChatTemplate::from_text(std::string_view text) {
  return guard_memory("read a chat template", [&] {
    return with_context(
        [&] {
          return ChatTemplate(std::make_shared<const text::chat::Template>(std::string(text)));
        },
        [] { return "chat template"; });
  });
}

ChatTemplate ChatTemplate::from_tokenizer_config(std::string_view json) {
  return guard_memory("read a chat template", [&] {
    return with_context(
        [&] {
          const JsonValue config = graph::parse_json(std::string(json));
          const std::string& text = template_in(config);
          from_text(text);  // says the lines of errors as they are in the file
          return from_text(tokens_in(config) + text);
        },
        [] { return "tokenizer_config.json"; });
  });
}

ChatTemplate ChatTemplate::open(const std::string& name_or_file) {
  if (text::chat::named_template(name_or_file) != nullptr) return named(name_or_file);
  std::error_code error;
  if (!std::filesystem::exists(name_or_file, error)) return named(name_or_file);
  return guard_memory("read a chat template", [&] {
    std::optional<ChatTemplate> result;
    with_data(name_or_file, {}, [&](SharedSource& source) {
      const auto bytes = source.rest();
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      const std::size_t first = text.find_first_not_of(" \t\r\n");
      const bool is_tag = first != std::string_view::npos && first + 1 < text.size() &&
                          std::string_view("{%#").find(text[first + 1]) != std::string_view::npos;
      const bool is_json = first != std::string_view::npos && text[first] == '{' && !is_tag;
      result = is_json ? from_tokenizer_config(text) : from_text(text);
    });
    return *result;
  });
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages,
                                 bool add_generation_prompt) const {
  return guard_memory("render a conversation", [&] {
    using text::chat::Value;
    text::chat::List list;
    for (const ChatMessage& one : messages) {
      list.push_back(Value::of(
          text::chat::Map{{"role", Value::of(one.role)}, {"content", Value::of(one.content)}}));
    }
    return template_->render(Value::of(std::move(list)), add_generation_prompt);
  });
}

const std::string& ChatTemplate::text() const noexcept { return template_->text(); }

}  // namespace ondine
