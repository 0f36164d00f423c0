// Chat templates: what Jinja makes of them, and what is refused.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/chat.h>
#include <ondine/error.h>

#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

using Catch::Matchers::Contains;

const std::vector<ChatMessage> talk{
    {"system", "Be kind."}, {"user", " Hi \n"}, {"assistant", "Ho."}, {"user", "So?"}};

std::string render(const std::string& text, bool asks = false) {
  return ChatTemplate::from_text(text).render(talk, asks);
}

std::string shown(const std::string& expression) { return render("{{ " + expression + " }}"); }

void refuse(const std::string& text, ErrorCode code, const std::string& message) {
  INFO(text);
  try {
    render(text);
    FAIL_CHECK("was rendered");
  } catch (const Error& error) {
    CHECK(error.code() == code);
    CHECK_THAT(std::string(error.what()), Contains(message));
  }
}

}  // namespace

TEST_CASE("expressions have the values of Jinja") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1 + 2 * 3", "7"},
      {"'a' ~ 1 ~ true ~ none", "a1TrueNone"},
      {"'a' + 'b' * 0 if false else 'c'", "c"},
      {"-7 // 2", "-4"},
      {"-7 % 3", "2"},
      {"7 % -3", "-2"},
      {"not 1 == 2", "True"},
      {"1 < 2 and 'b' > 'a' or boom", "True"},
      {"'' or 'x'", "x"},
      {"'y' and 'x'", "x"},
      {"'b' in 'abc'", "True"},
      {"'d' not in ['a', 'b']", "True"},
      {"'k' in {'k': 1}", "True"},
      {"{'k': [1, 2]}.k[-1]", "2"},
      {"{'k': 1}['x'] is defined", "False"},
      {"nothing is not defined", "True"},
      {"1 == 1.0", "True"},
      {"true == 1", "True"},
      {"'1' == 1", "False"},
      {"messages[0].role", "system"},
      {"messages[0]['content'][-1]", "."},
      {"messages[1:][0].role", "user"},
      {"messages[::-1][0].content", "So?"},
      {"'h\u00e4l'[1:]", "\u00e4l"},
      {"'h\u00e4l'|length", "3"},
      {"messages|length", "4"},
      {"' \u3000x\\n'|trim ~ '|'", "x|"},
      {"'xxaxx'.strip('x')", "a"},
      {"'  a '.lstrip() ~ '|'", "a |"},
      {"'a '.rstrip()", "a"},
      {"'abc'.startswith('ab') and 'abc'.endswith('bc')", "True"},
      {"'a-b-c'.split('-')[1]", "b"},
      {"'a,b'.split(',')|join('+')", "a+b"},
      {"'aXa'.replace('a', 'bb')", "bbXbb"},
      {"x|default('d')", "d"},
      {"''|default('d', true)", "d"},
      {"[3, 4]|first ~ [3, 4]|last", "34"},
      {"{'a': 1}.get('b', 2)", "2"},
      {"{'a': 1, 'b': [true, none, 'x\\n\"']}|tojson", R"({"a": 1, "b": [true, null, "x\n\""]})"},
      {"messages is iterable and messages is not string and messages[0] is mapping", "True"},
      {"'a' 'b'", "ab"},
      {"none is none and none is defined", "True"},
      {"'aB'|upper ~ 'aB'.lower()", "ABab"},
      {"(1 + 2) * 3", "9"},
      {"- 2 + 3", "1"},
      {"1 if nothing", ""},
  };
  for (const auto& [expression, wanted] : cases) {
    CAPTURE(expression);
    CHECK(shown(expression) == wanted);
  }
}

TEST_CASE("loops know their place, their filter and what follows when there is nothing") {
  CHECK(render("{% for m in messages %}{{ loop.index0 }}{{ loop.index }}"
               "{{ 'f' if loop.first }}{{ 'l' if loop.last else ',' }}{% endfor %}") ==
        "01f,12,23,34l");
  CHECK(render("{% for m in messages if m.role == 'user' %}{{ loop.length }}{{ m.content|trim }};"
               "{% endfor %}") == "2Hi;2So?;");
  CHECK(render("{% for m in [] %}x{% else %}none{% endfor %}") == "none");
  CHECK(render("{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k ~ v }}{% endfor %}") == "a1b2");
  CHECK(render("{% for i in range(2, 5) %}{{ i }}{% endfor %}") == "234");
  CHECK(render("{% for m in messages %}{{ (loop.previtem.role ~ '>') if loop.previtem is defined }}"
               "{% endfor %}") == "system>user>assistant>");
}

TEST_CASE("what is set in a loop ends with its turn, but for members of a namespace") {
  CHECK(render("{% set x = 1 %}{% for m in messages %}{% set x = 2 %}{% endfor %}{{ x }}") == "1");
  CHECK(render("{% set n = namespace(x=1) %}{% for m in messages %}{% set n.x = n.x + 1 %}"
               "{% endfor %}{{ n.x }}") == "5");
  CHECK(render("{% if true %}{% set x = 2 %}{% endif %}{{ x }}") == "2");
}

TEST_CASE("branches are taken by the first condition that holds") {
  const std::string text =
      "{% for m in messages %}{% if m.role == 'user' %}u{% elif m.role == 'system' %}s{% else %}a"
      "{% endif %}{% endfor %}";
  CHECK(render(text) == "suau");
  CHECK(render("{% if add_generation_prompt %}yes{% endif %}", true) == "yes");
}

TEST_CASE("white space around tags is that of trim_blocks and lstrip_blocks") {
  CHECK(render("a\n  {% if true %}\n  b\n  {% endif %}\nc\n") == "a\n  b\nc");
  CHECK(render("a  {%- if true -%}\n  b  {%- endif %}  c") == "ab  c");
  CHECK(render("a\n {{ 1 }}\n {{- 2 -}} \n b") == "a\n 12b");
  CHECK(render("a {% if true %} b{% endif %} c") == "a  b c");
  CHECK(render("a\n {# note #}\nb") == "a\nb");
  CHECK(render(" {%+ if true %}x{% endif %}") == " x");
  CHECK(render("{{ '}}' }}{% if '%}' %}y{% endif %}") == "}}y");
  CHECK(render("{") == "{");
}

TEST_CASE("what is not of the language is refused by line and name") {
  using enum ErrorCode;
  refuse("\n{% macro f() %}{% endmacro %}", unsupported, "line 2: the block 'macro'");
  refuse("{{ 1|groupby }}", unsupported, "line 1: the filter 'groupby' is not known");
  refuse("\n\n{{ 'a'.encode() }}", unsupported, "line 3: the method 'encode' is not known");
  refuse("{{ strftime_now('%d') }}", unsupported, "the function 'strftime_now' is not known");
  refuse("{{ 1 is divisibleby }}", unsupported, "the test 'divisibleby' is not known");
  refuse("{{ messages }}", unsupported, "line 1: a list as text");
  refuse("{{ 1 < 2 < 3 }}", unsupported, "several comparisons in a row");
  refuse("{{ '\\x41' }}", unsupported, "line 1: the escape '\\x' in a text");
  refuse("{{ (1, 2) }}", unsupported, "a tuple");
  refuse("{{ 'a'|trim(x=1) }}", unsupported, "the argument 'x' of 'trim'");
  refuse("{{ '\u00e4'|upper }}", unsupported, "letters that are not ASCII");
  refuse("{% set x %}a{% endset %}", unsupported, "a block 'set' without '='");
}

TEST_CASE("what is no template is refused by line") {
  using enum ErrorCode;
  refuse("\n{{ 1", corrupt, "line 2: '{{' has no '}}'");
  refuse("{% if 1 %}", corrupt, "line 1: the block has no 'endif'");
  refuse("a\n{% endfor %}", corrupt, "line 2: a stray 'endfor'");
  refuse("{{ 1 + }}", corrupt, "line 1: a value expected, found the end of the tag");
  refuse("{{ 'a }}", corrupt, "'{{' has no '}}'");
  refuse("{% for in x %}{% endfor %}", corrupt, "'in' expected");
  refuse("{{ a b }}", corrupt, "the end of the tag expected, found 'b'");
  refuse("{% %}", corrupt, "the name of a block expected");
  refuse("\xff", corrupt, "not UTF-8");
}

TEST_CASE("values that an operator does not take are refused by line") {
  using enum ErrorCode;
  refuse("\n{{ 'a' + 1 }}", mismatch, "line 2: '+' of a text and an integer");
  refuse("{{ 'a' + nothing }}", mismatch, "'nothing' is not defined");
  refuse("{{ nothing.more }}", mismatch, "line 1: 'nothing' is not defined");
  refuse("{{ 1 < 'a' }}", mismatch, "'<' of an integer and a text");
  refuse("{{ 1 // 0 }}", mismatch, "a division by 0");
  refuse("{% set m.x = 1 %}", mismatch, "'m' is no namespace");
  refuse("{% for m in 3 %}{% endfor %}", mismatch, "a loop needs a list, not an integer");
  refuse("{{ raise_exception('No ' ~ messages[0].role) }}", mismatch,
         "the chat template refuses the conversation: No system");
}

TEST_CASE("templates that never end or nest without bound are refused") {
  using enum ErrorCode;
  std::string many = "{% for i in range(300000) %}";
  for (int i = 0; i < 40; ++i) many += "{% if 0 %}{% endif %}";
  refuse(many + "{% endfor %}", limit, "more than 10000000 steps");
  refuse("{% for i in range(2000000000) %}{% endfor %}", limit, "bytes of text");
  refuse(
      "{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}"
      "{% set n.x = n.x + n.x %}{% endfor %}",
      limit, "bytes of text");
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "(";
  refuse("{{ " + deep, corrupt, "has no '}}'");
  refuse("{{ " + deep + "}}", limit, "nested more than 64 deep");
  std::string blocks;
  for (int i = 0; i < 100; ++i) blocks += "{% if 1 %}";
  refuse(blocks, limit, "nested more than 64 deep");
  std::string elif = "{% if 1 %}";
  for (int i = 0; i < 100; ++i) elif += "{% elif 1 %}";
  refuse(elif, limit, "more than 64");
  std::string sum = "1";
  for (int i = 0; i < 2000; ++i) sum += "+1";
  refuse("{{ " + sum + " }}", limit, "more than 1000 operators");
  refuse(std::string((1 << 20) + 1, 'a'), limit, "bytes, more than");
}

TEST_CASE("templates of a name write what the formats say") {
  const std::vector<ChatMessage> two{{"user", "Hi"}, {"assistant", "Ho"}};
  const std::vector<std::pair<std::string, std::string>> wanted{
      {"chatml", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n"},
      {"llama2", "<s>[INST] Hi [/INST] Ho </s>"},
      {"llama3",
       "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\nHo<|eot_id|>"},
      {"gemma",
       "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nHo<end_of_turn>\n"},
      {"phi3", "<|user|>\nHi<|end|>\n<|assistant|>\nHo<|end|>\n"},
      {"mistral", "<s>[INST] Hi [/INST] Ho</s>"},
      {"zephyr", "<|user|>\nHi</s>\n<|assistant|>\nHo</s>\n"},
  };
  std::vector<std::string> names;
  for (const auto& [name, text] : wanted) {
    CAPTURE(name);
    names.push_back(name);
    const ChatTemplate chat = ChatTemplate::named(name);
    CHECK(chat.render(two) == text);
    CHECK(ChatTemplate::from_text(chat.text()).render(two) == text);
  }
  CHECK(ChatTemplate::names() == names);
  CHECK(ChatTemplate::named("llama2").render(std::span(talk).first(2)) ==
        "<s>[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nHi [/INST]");
  CHECK_THROWS_WITH(ChatTemplate::named("chatgpt"),
                    Contains("there is no chat template 'chatgpt'; known are chatml, llama2"));
}

TEST_CASE("a tokenizer_config.json gives its template and the tokens that it shows") {
  const std::string text = R"("{{ bos_token }}\n  {% if true %}{{ eos_token }}{% endif %}")";
  const std::string tokens = R"("bos_token": "<'s\\>", "eos_token": {"content": "</s>"}, )";
  const auto chat =
      ChatTemplate::from_tokenizer_config("{" + tokens + "\"chat_template\": " + text + "}");
  CHECK(chat.render({}) == "<'s\\>\n</s>");
  CHECK(ChatTemplate::from_text(chat.text()).render({}) == "<'s\\>\n</s>");
  const auto chosen =
      ChatTemplate::from_tokenizer_config(R"({"chat_template": [{"name": "tool", "template": "t"},)"
                                          R"({"name": "default", "template": "d"}]})");
  CHECK(chosen.render({}) == "d");
  CHECK_THROWS_WITH(
      ChatTemplate::from_tokenizer_config("{}"),
      Contains("it has no text 'chat_template'") && Contains("in tokenizer_config.json"));
  CHECK_THROWS_WITH(
      ChatTemplate::from_tokenizer_config(R"({"bos_token": "b", "chat_template": "\n{{"})"),
      Contains("line 2: '{{' has no '}}'"));
  CHECK_THROWS_AS(ChatTemplate::from_tokenizer_config("{"), Error);
}

TEST_CASE("a template is opened by its name, as Jinja or from a tokenizer_config.json") {
  const TemporaryFolder folder;
  std::ofstream(folder / "t.jinja") << "{{ messages|length }}";
  std::ofstream(folder / "c.json") << R"( {"chat_template": "c"})";
  CHECK(ChatTemplate::open((folder / "t.jinja").string()).render(talk) == "4");
  CHECK(ChatTemplate::open((folder / "c.json").string()).render(talk) == "c");
  CHECK(ChatTemplate::open("zephyr").text() == ChatTemplate::named("zephyr").text());
  CHECK_THROWS_WITH(ChatTemplate::open("missing"), Contains("there is no chat template 'missing'"));
}

}  // namespace ondine::test
