// Conversations as the text that models of the next token are trained with.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/export.h>

namespace ondine {

namespace text::chat {
class Template;
}

struct ChatMessage {
  std::string role;     // as the template knows it: "system", "user" or "assistant"
  std::string content;  // UTF-8
};

// A template of conversations in a part of Jinja: if, for and set, expressions with their
// operators, the members of `loop`, the methods and filters that docs/chat-templates.md lists,
// namespace(), range() and raise_exception(). Reading Jinja is bounded: 1 MB of template, 64
// levels, 10 million steps and 256 MB of text, beyond which there is Error(limit). Immutable;
// copies share it.
class ONDINE_API ChatTemplate {
 public:
  // One of names(). Error(not_found) that lists them.
  static ChatTemplate named(std::string_view name);
  static std::vector<std::string> names();
  // Jinja text. Error(corrupt) or Error(unsupported) naming the line and what is wrong.
  static ChatTemplate from_text(std::string_view text);
  // The content of a tokenizer_config.json: its `chat_template`, or the one of several that is
  // called "default", with its `bos_token`, `eos_token`, `pad_token` and `unk_token` as variables.
  // Error(corrupt), and Error(not_found) where it has no template.
  static ChatTemplate from_tokenizer_config(std::string_view json);
  // A name, or a file: a tokenizer_config.json, which begins with "{" that opens no tag, or Jinja
  // text. Error(not_found) where there is neither.
  static ChatTemplate open(const std::string& name_or_file);

  // Error(mismatch) where the template refuses the messages (raise_exception), or takes other
  // members of them. `add_generation_prompt`: up to where an answer begins.
  std::string render(std::span<const ChatMessage> messages,
                     bool add_generation_prompt = false) const;
  // The Jinja text: what from_text() takes to make the same template.
  const std::string& text() const noexcept;

  const text::chat::Template& content() const noexcept { return *template_; }

 private:
  explicit ChatTemplate(std::shared_ptr<const text::chat::Template> content);

  std::shared_ptr<const text::chat::Template> template_;
};

}  // namespace ondine
