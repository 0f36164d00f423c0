// Bytes of a chat template, Jinja text or a tokenizer_config.json -> read -> render conversations:
// the same text twice, as a template made of its own text renders it too.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ondine/chat.h>

#include "tests/fuzz/try_model.h"

namespace {

using namespace ondine;
using Messages = std::vector<ChatMessage>;

void try_messages(const ChatTemplate& chat, const ChatTemplate& again, const Messages& messages,
                  bool asks) {
  std::string text;
  const auto render = [&](const ChatTemplate& from, std::string& to) {
    return test::refuses([&] { to = from.render(messages, asks); });
  };
  const bool is_refused = render(chat, text);
  std::string second;
  if (render(again, second) != is_refused || second != text) {
    throw test::Fault("rendered again, the text differs");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [&] {
    return bytes.starts_with("{\"") ? ChatTemplate::from_tokenizer_config(bytes)
                                    : ChatTemplate::from_text(bytes);
  };
  test::refuses([&] {
    const ChatTemplate chat = read();
    const ChatTemplate again = ChatTemplate::from_text(chat.text());
    for (const Messages& messages :
         {Messages{}, Messages{{"user", " Hello\n"}},
          Messages{{"system", "s"}, {"user", "{{ u }}"}, {"assistant", "a"}, {"user", "\xc3\xa4"}},
          Messages{{"assistant", ""}, {"assistant", "<|end|>"}}}) {
      for (const bool asks : {false, true}) try_messages(chat, again, messages, asks);
    }
  });
  return 0;
}
