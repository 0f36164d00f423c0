// Rows of .jsonl files for models of the next token: ids, labels, and what is refused.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>
#include <ondine/error.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/text/tokenizer/tokenizer_file.h"

namespace ondine::test {
namespace {

using Catch::Matchers::Contains;
using Ids = std::vector<std::int64_t>;

struct Lines {
  explicit Lines(const std::string& text, const std::string& name = "rows.jsonl") {
    add(text, name);
  }
  Lines& add(const std::string& text, const std::string& name) {
    std::ofstream(folder / name, std::ios::binary) << text;
    places.push_back(folder / name);
    return *this;
  }
  Dataset open(const DatasetOptions& options = {}) const { return Dataset::open(places, options); }
  std::string refusal(const DatasetOptions& options = {}) const {
    try {
      open(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
  std::vector<std::filesystem::path> places;
};

DatasetOptions with(std::int64_t length, std::optional<LossOn> loss_on = {}) {
  DatasetOptions options;
  options.text.length = length;
  options.text.next.loss_on = loss_on;
  return options;
}

// The column that an input of the name takes; of bytes each padding as '_', each ignored label as
// '.', so that texts must have neither.
Ids ids_of(const Dataset& data, const std::string& name, std::uint64_t row) {
  const std::vector<PortInfo> inputs{port(name, DType::int64, {-1, -1})};
  Feeder feeder(inputs, data);
  const std::vector<std::uint64_t> rows{row};
  const auto feeds = feeder.take(rows);
  const auto values = feeds[0].second.tensor().values<std::int64_t>();
  return {values.begin(), values.end()};
}

std::string shown(const Dataset& data, const std::string& name, std::uint64_t row) {
  std::string text;
  for (const std::int64_t id : ids_of(data, name, row)) {
    text += id == 0 ? '_' : id == -100 ? '.' : static_cast<char>(id);
  }
  return text;
}

std::vector<std::string> notes_of(const Dataset& data) { return data.notes(); }

const std::string question = R"({"prompt": "ab", "completion": "cd"})";

}  // namespace

TEST_CASE("texts without a label become ids and the ids that follow them, up to the end token") {
  const Lines lines("{\"text\": \"abc\"}\n{\"text\": \"d\"}\n");
  const Dataset data = lines.open();
  CHECK(shown(data, "text", 0) == "abc");
  CHECK(shown(data, "label", 0) == "bc_");
  CHECK(shown(data, "text", 1) == "d__");
  CHECK(shown(data, "label", 1) == "_..");
  CHECK(data.target() == "label");
  CHECK(data.text()->next.rows == NextTokenRows::text);
  CHECK(notes_of(data).empty());
}

TEST_CASE("labels of a prompt do not count unless all tokens are learnt") {
  const Lines lines(question + "\n" + R"({"prompt": "a", "completion": "bcd"})");
  const Dataset answers = lines.open();
  CHECK(shown(answers, "text", 0) == "abcd");
  CHECK(shown(answers, "label", 0) == ".cd_");
  CHECK(shown(answers, "label", 1) == "bcd_");
  CHECK(answers.text()->next.loss_on == LossOn::answer);
  const Dataset all = lines.open(with(6, LossOn::all));
  CHECK(shown(all, "text", 0) == "abcd__");
  CHECK(shown(all, "label", 0) == "bcd_..");
}

TEST_CASE("another ignored label takes the place of the usual one") {
  DatasetOptions options;
  options.text.next.ignored_label = -7;
  CHECK(ids_of(Lines(question).open(options), "label", 0) == Ids{-7, 'c', 'd', 0});
}

TEST_CASE("rows that are cut off or have no label left are counted") {
  const Lines lines(question + "\n" + R"({"prompt": "abcdef", "completion": "g"})" + "\n" +
                    R"({"prompt": "a", "completion": "bcdefg"})");
  const Dataset data = lines.open(with(4));
  REQUIRE(data.rows() == 2);
  CHECK(shown(data, "text", 1) == "abcd");
  CHECK(shown(data, "label", 1) == "bcde");
  CHECK(notes_of(data) ==
        std::vector<std::string>{"2 of 3 rows are cut off after 4 ids",
                                 "1 of 3 rows are left out: they have no token to learn within 4 "
                                 "ids"});
  CHECK_THAT(Lines(R"({"prompt": "abcdef", "completion": "g"})").refusal(with(4)),
             Contains("no row has a token to learn within 4 ids; --text-length N makes"));
}

TEST_CASE("the weight of a row that is left out is left out with it") {
  DatasetOptions options = with(4);
  options.weights = "w";
  const Dataset data = Lines(R"({"prompt": "abcdef", "completion": "g", "w": 7})"
                             "\n"
                             R"({"prompt": "a", "completion": "b", "w": 1})"
                             "\n"
                             R"({"prompt": "a", "completion": "c", "w": 3})")
                           .open(options);
  REQUIRE(data.rows() == 2);
  const std::vector<PortInfo> inputs{port("w", DType::float32, {-1})};
  Feeder feeder(inputs, data);
  const std::vector<std::uint64_t> rows{0, 1};
  const auto weights = feeder.take(rows)[0].second.tensor().values<float>();
  CHECK(weights[0] == 0.5F);
  CHECK(weights[1] == 1.5F);
}

TEST_CASE("members of other names are the prompt and the completion where options say so") {
  DatasetOptions options;
  options.text.next.prompt = "question";
  options.text.next.completion = "answer";
  const Dataset data = Lines(R"({"question": "ab", "answer": "c", "text": 1})").open([&] {
    DatasetOptions other = options;
    other.text.column = "none";
    return other;
  }());
  CHECK(shown(data, "label", 0) == ".c_");
  CHECK_THAT(Lines(R"({"text": "ab"})").refusal(options),
             Contains("(--prompt-column) has an effect on rows of a .jsonl file with a prompt"));
}

TEST_CASE("rows of two kinds and rows that lack a member are named by file and line") {
  const std::string text = R"({"text": "ab"})";
  CHECK_THAT(Lines(question + "\n" + text).refusal(),
             Contains("rows.jsonl") &&
                 Contains("line 2 has 'text', the rows before it have 'prompt' and 'completion'"));
  CHECK_THAT(Lines(text + "\n\n" + question).refusal(),
             Contains("line 3 has 'prompt' and 'completion', the rows before it have 'text'"));
  CHECK_THAT(Lines(question + "\n{\"prompt\": \"a\"}").refusal(),
             Contains("line 2 has no 'prompt' and 'completion'"));
  CHECK_THAT(Lines(question + "\n" + R"({"prompt": "a", "completion": 3})").refusal(),
             Contains("line 2 has no text 'completion'"));
  CHECK_THAT(Lines(R"({"prompt": "a", "completion": "b", "text": "c"})").refusal(),
             Contains("line 1 has 'text' and 'prompt' and 'completion', of which one can be"));
  CHECK_THAT(Lines(question + "\n" + R"({"prompt": "a", "completion": "b\u0000"})").refusal(),
             Contains("line 2: a character U+0000 is no text"));
}

TEST_CASE("which tokens are learnt is an error where nothing has a prompt") {
  CHECK_THAT(Lines(R"({"text": "ab"})").refusal(with(0, LossOn::answer)),
             Contains("(--loss-on) has an effect on rows of a .jsonl file with a prompt"));
  CHECK_THAT(Lines(R"({"text": "ab", "label": "x"})").refusal(with(0, LossOn::all)),
             Contains("(--loss-on) has an effect"));
  DatasetOptions target;
  target.target = "x";
  CHECK_THAT(Lines(question).refusal(target), Contains("'x' (--target) has no effect"));
  DatasetOptions inference = with(0, LossOn::answer);
  inference.use = DataUse::inference;
  CHECK_THAT(Lines(question).refusal(inference), Contains("--loss-on has no effect"));
}

TEST_CASE("other members beside a text and its label do no harm") {
  CHECK(Lines(R"({"text": "abc", "label": "x", "prompt": "p", "completion": "c"})")
            .open()
            .classes() == std::vector<std::string>{"x"});
}

TEST_CASE("texts with a label are of a class unless the model says that they are running texts") {
  const Lines lines(R"({"text": "abc", "label": "x"})");
  CHECK(lines.open().classes() == std::vector<std::string>{"x"});
  DatasetOptions options;
  options.text.next.rows = NextTokenRows::text;
  CHECK(shown(lines.open(options), "label", 0) == "bc_");
}

TEST_CASE("inference reads prompts without their completions") {
  DatasetOptions options;
  options.use = DataUse::inference;
  const Dataset data = Lines(question + "\n" + R"({"prompt": "abc"})").open(options);
  REQUIRE(data.rows() == 2);
  CHECK(shown(data, "text", 0) == "ab_");
  CHECK(shown(data, "text", 1) == "abc");
  CHECK(data.target().empty());
}

TEST_CASE("rows of validation are read as those of training") {
  Lines lines(question, "rows_train.jsonl");
  lines.add(R"({"prompt": "x", "completion": "y"})", "rows_val.jsonl");
  const Dataset data = lines.open(with(0, LossOn::all));
  CHECK(shown(data.validation(), "label", 0) == "y_");
  const DatasetOptions like = options_like(data, {});
  CHECK(like.target.empty());
  CHECK(like.text.next.loss_on == LossOn::all);
  CHECK(like.text.next.rows == NextTokenRows::prompt);
}

TEST_CASE("a token that reaches over the beginning of an answer is a label, over its end none") {
  // a 0, b 1, c 2, ab 3, bc 4, and the end of a text, 5.
  const TokenizerFile file{
      .model = byte_pairs({"a", "b", "c", "ab", "bc"}, {"a b", "b c"}),
      .added_tokens =
          R"([{"id":5,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,)"
          R"("normalized":false,"special":true}])"};
  DatasetOptions options;
  options.text.encoding = file.encoding();
  CHECK(options.text.encoding.end_of_text() == 5);
  const Dataset split = Lines(R"({"prompt": "ca", "completion": "bc"})").open(options);
  CHECK(ids_of(split, "text", 0) == Ids{2, 3, 2});
  CHECK(ids_of(split, "label", 0) == Ids{3, 2, 5});
  const Dataset whole = Lines(R"({"prompt": "cab", "completion": "c"})").open(options);
  CHECK(ids_of(whole, "text", 0) == Ids{2, 3, 2});
  CHECK(ids_of(whole, "label", 0) == Ids{-100, 2, 5});
}

TEST_CASE("rows begin and end as the tokenizer says, once") {
  // a 0, b 1, <s> 2, </s> 3.
  const TokenizerFile file{
      .model = byte_pairs({"a", "b", "<s>", "</s>"}, {}),
      .post_processor =
          R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},)"
          R"({"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],)"
          R"("pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[2],"tokens":["<s>"]},)"
          R"("</s>":{"id":"</s>","ids":[3],"tokens":["</s>"]}}})"};
  DatasetOptions options;
  options.text.encoding = file.encoding();
  const Dataset data = Lines(R"({"prompt": "a", "completion": "b"})").open(options);
  CHECK(ids_of(data, "text", 0) == Ids{2, 0, 1});
  CHECK(ids_of(data, "label", 0) == Ids{-100, 1, 3});
}

TEST_CASE("a model with shorter rows than the data is refused with the length that it takes") {
  const std::vector<PortInfo> inputs{port("ids", DType::int64, {-1, 3})};
  CHECK_THROWS_WITH(Feeder(inputs, Lines(question).open()),
                    Contains("the rows have 4 ids: --text-length 3"));
}

}  // namespace ondine::test
