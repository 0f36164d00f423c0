// Conversations as rows: what of them is learnt, and what is refused.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>
#include <ondine/error.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"
#include "trainer/data/text/conversation.h"

namespace ondine::test {
namespace {

using Catch::Matchers::Contains;
using data::beginning_of_messages;
using data::passage_of_messages;

const std::string talk =
    R"([{"role": "user", "content": "a?"}, {"role": "assistant", "content": "b."},)"
    R"( {"role": "user", "content": "c?"}, {"role": "assistant", "content": "d."}])";

// The text with its answers in brackets.
std::string marked(const std::string& json, const ChatTemplate& chat) {
  const data::Passage passage = passage_of_messages(json, chat);
  std::string text = passage.text;
  for (std::size_t i = passage.answers.size(); i-- > 0;) {
    text.insert(passage.answers[i].end, "]");
    text.insert(passage.answers[i].begin, "[");
  }
  return text;
}

std::string refusal(const std::string& json, const ChatTemplate& chat) {
  try {
    passage_of_messages(json, chat);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const ChatTemplate plain = ChatTemplate::from_text(
    "{% for m in messages %}<{{ m.role[0] }}>{{ m.content }};{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}");

std::string message_of(const TemporaryFolder& folder, const DatasetOptions& options) {
  try {
    Dataset::open(folder / "t.jsonl", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("answers are what the template writes for the assistant after the prompt for it") {
  CHECK(marked(talk, plain) == "<u>a?;<a>[b.;]<u>c?;<a>[d.;]");
  CHECK(marked(talk, ChatTemplate::named("mistral")) ==
        "<s>[INST] a? [/INST][ b.</s>][INST] c? [/INST][ d.</s>]");
  CHECK(marked(talk, ChatTemplate::named("chatml")) ==
        "<|im_start|>user\na?<|im_end|>\n<|im_start|>assistant\n[b.<|im_end|>\n]"
        "<|im_start|>user\nc?<|im_end|>\n<|im_start|>assistant\n[d.<|im_end|>\n]");
}

TEST_CASE("each template of a name finds every answer") {
  for (const std::string& name : ChatTemplate::names()) {
    CAPTURE(name);
    const data::Passage passage = passage_of_messages(talk, ChatTemplate::named(name));
    REQUIRE(passage.answers.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto [begin, end] = passage.answers[i];
      CHECK_THAT(passage.text.substr(begin, end - begin), Contains(i == 0 ? "b." : "d."));
      CHECK_THAT(passage.text.substr(0, begin), !Contains(i == 0 ? "b." : "d."));
    }
  }
}

TEST_CASE("a template that writes the first messages otherwise is refused with the message") {
  const auto last_alone = ChatTemplate::from_text(
      "{% for m in messages %}{{ m.content if loop.last else '-' }}{% endfor %}");
  CHECK_THAT(refusal(talk, last_alone),
             Contains("which tokens are the answer of message 2 is not known"));
  const auto closed = ChatTemplate::from_text(
      "{% for m in messages %}{{ m.content }}{% endfor %}{% if not add_generation_prompt %}#"
      "{% endif %}");
  CHECK_THAT(refusal(talk, closed), Contains("the answer of message 2 is not known"));
}

TEST_CASE("what is no list of messages is named") {
  CHECK_THAT(refusal("{}", plain), Contains("the messages are no list"));
  CHECK_THAT(refusal(R"([{"role": "user", "content": "a"}, {"role": "user"}])", plain),
             Contains("message 2 is no object whose 'role' and 'content' are texts"));
  CHECK_THAT(refusal(R"([{"role": "user", "content": [1]}])", plain), Contains("message 1"));
  std::string many = "[";
  for (int i = 0; i < 1001; ++i) {
    many += std::string(i == 0 ? "" : ",") + R"({"role":"user","content":""})";
  }
  CHECK_THAT(refusal(many + "]", plain), Contains("there are 1001 messages, more than 1000"));
  CHECK_THAT(refusal(R"([{"role": "tool", "content": "a"}])", ChatTemplate::named("gemma")),
             Contains("the chat template refuses the conversation: gemma knows user"));
}

TEST_CASE("a conversation that waits for an answer ends with the prompt for it") {
  CHECK(beginning_of_messages(R"([{"role": "user", "content": "a"}])", plain) == "<u>a;<a>");
  CHECK(beginning_of_messages(R"([{"role": "assistant", "content": "a"}])", plain) == "<a>a;");
}

TEST_CASE("conversations of a file are rows whose labels are the assistant's tokens") {
  const TemporaryFolder folder;
  std::ofstream(folder / "t.jsonl")
      << R"({"messages": [{"role": "user", "content": "x"}, )"
      << R"({"role": "assistant", "content": "yz"}]})" << '\n'
      << R"({"messages": [{"role": "user", "content": "x"}]})" << '\n';
  DatasetOptions options;
  CHECK_THAT(message_of(folder, options), Contains("need a template (--chat-template)"));
  options.text.next.chat_template = plain.text();
  const Dataset data = Dataset::open(folder / "t.jsonl", options);
  REQUIRE(data.rows() == 1);
  CHECK_THAT(data.notes().at(0), Contains("1 of 2 rows are left out"));
  CHECK(data.text()->next.rows == NextTokenRows::messages);
  CHECK(data.text()->next.chat_template == plain.text());
  const std::vector<PortInfo> inputs{port("label", DType::int64, {-1, -1})};
  Feeder feeder(inputs, data);
  const std::vector<std::uint64_t> rows{0};
  const auto labels = feeder.take(rows)[0].second.tensor().values<std::int64_t>();
  // Labels of "<u>x;<a>yz;" without its first byte.
  const std::vector<std::int64_t> wanted{-100, -100, -100, -100, -100, -100, -100, 'y', 'z', ';'};
  CHECK(std::vector<std::int64_t>(labels.begin(), labels.end()) == wanted);
  std::ofstream(folder / "t.jsonl") << R"({"messages": "[]"})";
  CHECK_THAT(message_of(folder, options), Contains("line 1: 'messages' is no list"));
  std::ofstream(folder / "t.jsonl") << R"({"messages": [1]})";
  CHECK_THAT(message_of(folder, options), Contains("line 1, 'messages'"));
  std::ofstream(folder / "t.jsonl") << R"({"prompt": "a", "completion": "b"})";
  CHECK_THAT(message_of(folder, options), Contains("(--chat-template) has an effect on rows"));
}

}  // namespace ondine::test
