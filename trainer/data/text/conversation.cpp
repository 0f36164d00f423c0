#include "trainer/data/text/conversation.h"

#include "core/message.h"
#include "core/stop.h"
#include "graph/record/json_value.h"
#include "trainer/text/chat/template.h"

namespace ondine::data {
namespace {

using text::chat::List;
using text::chat::Value;

bool is_message(const Value& value) {
  if (!value.is(Value::Kind::map)) return false;
  for (const char* name : {"role", "content"}) {
    const Value* member = value.find(name);
    if (member == nullptr || !member->is(Value::Kind::text)) return false;
  }
  return true;
}

bool is_answer(const Value& message) { return message.find("role")->text == "assistant"; }

List messages_in(const std::string& json) {
  constexpr std::size_t most_messages = 1000;
  const Value all = text::chat::from_json(graph::parse_json(json));
  if (!all.is(Value::Kind::list)) fail(ErrorCode::corrupt, "the messages are no list");
  if (all.list->size() > most_messages) {
    fail(ErrorCode::limit, "there are ", all.list->size(), " messages, more than ", most_messages);
  }
  for (std::size_t i = 0; i < all.list->size(); ++i) {
    if (is_message((*all.list)[i])) continue;
    fail(ErrorCode::corrupt, "message ", i + 1,
         " is no object whose 'role' and 'content' are texts");
  }
  return *all.list;
}

class Renderer {
 public:
  Renderer(List messages, const ChatTemplate& chat)
      : messages_(std::move(messages)), chat_(&chat), whole_(render(messages_.size(), false)) {}

  Passage passage() const {
    Passage passage{whole_, {}, true};
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      check_stop();
      if (is_answer(messages_[i])) {
        passage.answers.push_back({beginning(i, true), beginning(i + 1, false)});
      }
    }
    return passage;
  }

 private:
  std::string render(std::size_t count, bool asks) const {
    const List first(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(count));
    return chat_->content().render(Value::of(first), asks);
  }

  // Bytes of the text of the first messages.
  std::size_t beginning(std::size_t count, bool asks) const {
    if (count == messages_.size() && !asks) return whole_.size();
    const std::string text = render(count, asks);
    if (whole_.starts_with(text)) return text.size();
    fail(ErrorCode::mismatch, "which tokens are the answer of message ", asks ? count + 1 : count,
         " is not known: the chat template writes the messages before it ",
         asks ? "with the prompt for an answer" : "and it",
         " otherwise than it begins the whole conversation");
  }

  List messages_;
  const ChatTemplate* chat_;
  std::string whole_;
};

}  // namespace

Passage passage_of_messages(const std::string& json, const ChatTemplate& chat) {
  return Renderer(messages_in(json), chat).passage();
}

std::string beginning_of_messages(const std::string& json, const ChatTemplate& chat) {
  const List messages = messages_in(json);
  const bool asks = messages.empty() || !is_answer(messages.back());
  return chat.content().render(Value::of(messages), asks);
}

}  // namespace ondine::data
