#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <ondine/build.h>
#include <ondine/generate.h>
#include <ondine/options.h>

#include "tests/trainer/text/generate/small_decoder.h"
#include "tests/trainer/text/pieces/piece_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

const SmallDecoder cached{.caches = true, .mask = true, .positions = true};
constexpr const char* prompt = "In the beginning";

// ids [N, T] -> scores [N, T, C], of which the largest after id i has the id next[i].
Model successor_model(const std::vector<std::int64_t>& next) {
  const std::int64_t count = std::ssize(next);
  Tensor table(DType::float32, {count, count});
  for (std::size_t i = 0; i < next.size(); ++i) {
    table.mutable_values<float>()[i * next.size() + static_cast<std::size_t>(next[i])] = 5;
  }
  ModelBuilder b("successors");
  const std::string ids = b.input("ids", DType::int64, {"N", "T"});
  b.node("Gather", {b.initializer("table", table), ids}, {}, "scores");
  b.output("scores", DType::float32, {"N", "T", count});
  return Model::load(b.bytes());
}

// Bytes follow one another by their values.
Model counting_bytes() {
  std::vector<std::int64_t> next;
  for (std::int64_t i = 0; i < 256; ++i) next.push_back((i + 1) % 256);
  return successor_model(next);
}

// 0 to 2 <unk>, <s>, </s>; 3 "a", 4 "b".
TextEncoding letters() { return PieceFile().add_usual().add("a").add("b").encoding(); }

std::string refusal(const GenerateOptions& options) {
  const Model model = counting_bytes();
  try {
    const Generator generator(model, options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_option);
    return error.message();
  }
  return {};
}

}  // namespace

TEST_CASE("the largest score each time is that of whole-window inference") {
  const Model plain = SmallDecoder{}.model();
  std::vector<std::int64_t> tokens = TextEncoding().encode(prompt);
  const std::size_t known = tokens.size();
  for (int i = 0; i < 100; ++i) {
    const Tensor ids = Tensor::of(Shape{1, std::ssize(tokens)}, tokens);
    const Tensor scores = plain.infer({{"input_ids", ids}})["logits"].tensor();
    const auto last = scores.values<float>().last(256);
    tokens.push_back(std::max_element(last.begin(), last.end()) - last.begin());
  }
  const std::vector<std::int64_t> expected(tokens.begin() + static_cast<std::ptrdiff_t>(known),
                                           tokens.end());
  const GenerateOptions greedy{.temperature = 0};
  for (const bool has_cache : {false, true}) {
    const Model model = has_cache ? cached.model() : SmallDecoder{}.model();
    const GenerateReport report = Generator(model, greedy).generate(prompt);
    CHECK(report.tokens == expected);
    CHECK(report.prompt_tokens == known);
    CHECK(report.end == GenerateEnd::max_tokens);
    CHECK(report.cache == GenerateCache::padded);
  }
}

TEST_CASE("weights of 8 bits give the text of the numbers that they stand for") {
  // Rows of the identity, moved by one: times 0.05, what follows a byte is the next one.
  constexpr std::int64_t count = 256;
  Tensor table(DType::int8, {count, count});
  Tensor one_hot(DType::float32, {count, count});
  for (std::int64_t i = 0; i < count; ++i) {
    table.mutable_values<std::int8_t>()[static_cast<std::size_t>(i * count + (i + 1) % count)] =
        100;
    one_hot.mutable_values<float>()[static_cast<std::size_t>(i * count + i)] = 1;
  }
  ModelBuilder b("quantized");
  const std::string ids = b.input("ids", DType::int64, {"N", "T"});
  const std::string weights =
      b.node("DequantizeLinear",
             {b.initializer("table", table), b.initializer("scale", Tensor::scalar(0.05F))});
  b.node("MatMul", {b.node("Gather", {b.initializer("one_hot", one_hot), ids}), weights}, {},
         "scores");
  b.output("scores", DType::float32, {"N", "T", count});
  const Model model = Model::load(b.bytes());
  CHECK(Generator(model, {.max_tokens = 5, .temperature = 0}).generate("a").text == "bcdef");
}

TEST_CASE("an answer follows what the chat template makes of the messages") {
  const Model model = counting_bytes();
  GenerateOptions options{.max_tokens = 2, .temperature = 0};
  const std::vector<ChatMessage> messages{{"user", "x"}, {"assistant", "y"}, {"user", "z"}};
  CHECK_THROWS_WITH(Generator(model, options).answer(messages), Contains("no chat template"));
  options.chat_template =
      "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}!{% endif "
      "%}";
  const Generator generator(model, options);
  const GenerateReport report = generator.answer(messages);
  CHECK(report.prompt_tokens == 4);
  CHECK(report.text == "\"#");
  CHECK_THROWS_WITH(generator.answer({}), Contains("no message"));
}

TEST_CASE("the same seed gives the same text for any number of threads") {
  GenerateOptions options{.temperature = 0.8, .top_k = 50, .seed = 3};
  const Model one = cached.model({.threads = 1});
  const Model two = cached.model({.threads = 2});
  const GenerateReport first = Generator(one, options).generate(prompt);
  const Generator generator(two, options);
  CHECK(generator.generate(prompt).tokens == first.tokens);
  CHECK(generator.generate(prompt).text == first.text);
  options.seed = 4;
  CHECK(Generator(two, options).generate(prompt).tokens != first.tokens);
}

TEST_CASE("text comes in whole characters and is that of the report") {
  // Every byte once: those from 0x80 on make no characters.
  const Model model = counting_bytes();
  const Generator generator(model, {.max_tokens = 258, .temperature = 0});
  std::vector<std::string> parts;
  std::string text;
  const GenerateReport report = generator.generate("a", [&](std::string_view part) {
    parts.emplace_back(part);
    text += part;
    return true;
  });
  CHECK(report.tokens.size() == 258);
  CHECK(text == report.text);
  CHECK(parts.size() > 200);
  CHECK(parts[0] == "b");
  CHECK_THAT(text, Contains("\xef\xbf\xbd"));
  CHECK_NOTHROW(TextEncoding().encode(text));
}

TEST_CASE("a text ends before a stop text, which may lie across tokens") {
  const Model model = counting_bytes();
  std::string shown;
  const auto show = [&](std::string_view part) {
    shown += part;
    return true;
  };
  const Generator generator(model, {.temperature = 0, .stop = {"zz", "fgh"}});
  const GenerateReport report = generator.generate("a", show);
  CHECK(report.text == "bcde");
  CHECK(shown == "bcde");
  CHECK(report.tokens.size() == 7);
  CHECK(report.end == GenerateEnd::stop_text);
  const Generator late(model, {.max_tokens = 5, .temperature = 0, .stop = {"fgh"}});
  CHECK(late.generate("a").text == "bcdef");
}

TEST_CASE("a token that ends a text ends it, unless that is ignored") {
  const Model model = successor_model({0, 0, 3, 4, 2});
  GenerateOptions options{.max_tokens = 5, .temperature = 0, .encoding = letters()};
  const GenerateReport report = Generator(model, options).generate("a");
  CHECK(report.text == "b");
  CHECK(report.tokens == std::vector<std::int64_t>{4, 2});
  CHECK(report.end == GenerateEnd::end_token);
  options.ignore_end = true;
  const GenerateReport longer = Generator(model, options).generate("a");
  CHECK(longer.text == "bab");
  CHECK(longer.end == GenerateEnd::max_tokens);
}

TEST_CASE("the callback ends a text") {
  const Model model = counting_bytes();
  const Generator generator(model, {.temperature = 0});
  int calls = 0;
  const GenerateReport report =
      generator.generate("a", [&](std::string_view) { return ++calls < 3; });
  CHECK(calls == 3);
  CHECK(report.text == "bcd");
  CHECK(report.end == GenerateEnd::callback);
}

TEST_CASE("no tokens are asked for and none come") {
  const Model model = counting_bytes();
  const GenerateReport report = Generator(model, {.max_tokens = 0}).generate("a");
  CHECK(report.tokens.empty());
  CHECK(report.text.empty());
}

TEST_CASE("a prompt must be tokens of the encoding and of the model") {
  const Model model = counting_bytes();
  const Generator generator(model);
  CHECK_THROWS_WITH(generator.generate(""), Contains("prompt"));
  const std::vector<std::int64_t> wrong{65, 256};
  CHECK_THROWS_WITH(generator.generate(wrong), Contains("256, which is none of the 256 ids"));
  SmallDecoder wide = cached;
  wide.vocabulary = 300;
  const Model other = wide.model();
  CHECK_THROWS_WITH(Generator(other), Contains("scores of 300 tokens") && Contains("--tokenizer"));
}

TEST_CASE("options of generation out of their range or without effect are refused") {
  CHECK_THAT(refusal({.top_k = 0}), Contains("top-k must be at least 1"));
  CHECK_THAT(refusal({.top_p = 0}), Contains("top-p must be above 0"));
  CHECK_THAT(refusal({.top_p = 1.5}), Contains("top-p"));
  CHECK_THAT(refusal({.min_p = -0.1}), Contains("min-p must be from 0 to 1"));
  CHECK_THAT(refusal({.repeat_penalty = 0}), Contains("repeat-penalty must be above 0"));
  CHECK_THAT(refusal({.temperature = -1}), Contains("temperature must be at least 0"));
  CHECK_THAT(refusal({.stop = {""}}), Contains("stop text is empty"));
  CHECK_THAT(refusal({.temperature = 0, .top_k = 3}), Contains("top-k has no effect"));
  CHECK_THAT(refusal({.temperature = 0, .top_p = 0.5}), Contains("top-p has no effect"));
  CHECK_THAT(refusal({.temperature = 0, .min_p = 0.5}), Contains("min-p has no effect"));
  CHECK_THAT(refusal({.temperature = 0, .seed = 1}), Contains("seed has no effect"));
  CHECK_THROWS_WITH(
      generate_options({{"temperature", "0"}, {"top-k", "3"}}, OptionSpelling::dashes),
      Contains("--top-k has no effect with --temperature 0"));
  CHECK(refusal({.temperature = 0, .repeat_penalty = 1.2}).empty());
}

TEST_CASE("options of generation are those of the table") {
  const GenerateOptions options = generate_options({{"max-tokens", "7"},
                                                    {"temperature", "0.5"},
                                                    {"top-k", "4"},
                                                    {"top-p", "0.9"},
                                                    {"min-p", "0.1"},
                                                    {"repeat-penalty", "1.1"},
                                                    {"stop", "x"},
                                                    {"stop", "y"},
                                                    {"seed", "9"},
                                                    {"ignore-end", "true"}});
  CHECK(options.max_tokens == 7);
  CHECK(options.temperature == 0.5);
  CHECK(options.top_k == 4);
  CHECK(options.top_p == 0.9);
  CHECK(options.min_p == 0.1);
  CHECK(options.repeat_penalty == 1.1);
  CHECK(options.stop == std::vector<std::string>{"x", "y"});
  CHECK(options.seed == 9U);
  CHECK(options.ignore_end);
}
