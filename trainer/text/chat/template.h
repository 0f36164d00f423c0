// A chat template that was read.
#pragma once

#include <string>

#include "trainer/text/chat/syntax.h"

namespace ondine::text::chat {

class Template {
 public:
  explicit Template(std::string text);

  const std::string& text() const noexcept { return text_; }
  // `messages`: a list of mappings. Errors as ChatTemplate::render().
  std::string render(const Value& messages, bool add_generation_prompt) const;

 private:
  std::string text_;
  Block block_;
};

// The Jinja text of a template that comes with this library; nullptr for another name.
const char* named_template(std::string_view name) noexcept;

}  // namespace ondine::text::chat
