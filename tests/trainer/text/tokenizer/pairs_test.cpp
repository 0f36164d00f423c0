// Pairs of texts against the ids and types of the package tokenizers 0.22.
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

const std::string bert_template =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},)"
    R"({"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],)"
    R"("pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
    R"({"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
    R"({"SpecialToken":{"id":"[SEP]","type_id":1}}],)"
    R"("special_tokens":{"[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},)"
    R"("[SEP]":{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}})";

std::string processing(const char* type) {
  return std::string(R"({"type":")") + type + R"(","sep":["[SEP]",3],"cls":["[CLS]",2]})";
}

TextEncoding letters(const std::string& post_processor) {
  return TokenizerFile{
      .model = word_pieces({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "e", "f"}),
      .pre_tokenizer = R"({"type":"Whitespace"})",
      .post_processor = post_processor,
      .added_tokens = R"([{"id":0,"content":"[PAD]","single_word":false,"lstrip":false,)"
                      R"("rstrip":false,"normalized":false,"special":true}])"}
      .encoding();
}

DatasetOptions with(const TextEncoding& encoding, const std::string& column = {}) {
  DatasetOptions options;
  options.text.encoding = encoding;
  options.text.column = column;
  return options;
}

Dataset open(const TemporaryFolder& folder, const std::string& text, const DatasetOptions& options,
             const char* name = "rows.jsonl") {
  std::ofstream(folder / name, std::ios::binary) << text;
  return Dataset::open(folder / name, options);
}

std::string refusal(const std::string& text, const DatasetOptions& options,
                    const char* name = "rows.jsonl") {
  const TemporaryFolder folder;
  try {
    open(folder, text, options, name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Fed {
  Ids ids;
  Ids types;
  Ids mask;
};

Fed fed(const Dataset& data, std::int64_t length, std::uint64_t row = 0) {
  const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, length}),
                                     port("token_type_ids", DType::int64, {-1, length}),
                                     port("attention_mask", DType::int64, {-1, length})};
  Feeder feeder(inputs, data);
  const std::vector<std::uint64_t> rows{row};
  const auto feeds = feeder.take(rows);
  const auto values = [&](std::size_t i) {
    const auto all = feeds[i].second.tensor().values<std::int64_t>();
    return Ids(all.begin(), all.end());
  };
  return {values(0), values(1), values(2)};
}

std::string line(const std::string& first, const std::string& second) {
  return R"({"text": ")" + first + R"(", "text_pair": ")" + second + "\", \"label\": 1}\n";
}

}  // namespace

TEST_CASE("two texts are joined as the post-processor says") {
  struct Case {
    std::string post_processor;
    Ids ids;
    Ids types;
  };
  const Ids both{2, 4, 5, 3, 6, 7, 8, 3};
  const Ids types{0, 0, 0, 0, 1, 1, 1, 1};
  for (const Case& one :
       {Case{bert_template, both, types}, Case{processing("BertProcessing"), both, types},
        Case{processing("RobertaProcessing"), {2, 4, 5, 3, 3, 6, 7, 8, 3}, Ids(9, 0)},
        Case{"", {4, 5, 6, 7, 8}, {0, 0, 1, 1, 1}}}) {
    CAPTURE(one.post_processor);
    const TemporaryFolder folder;
    const Dataset data = open(folder, line("a b", "c d e"), with(letters(one.post_processor)));
    const Fed found = fed(data, -1);
    CHECK(found.ids == one.ids);
    CHECK(found.types == one.types);
    CHECK(found.mask == Ids(one.ids.size(), 1));
    CHECK(data.target() == "label");
    CHECK(data.text()->column == "text,text_pair");
  }
}

TEST_CASE("short pairs are padded, and of long ones the longer text is cut off first") {
  const TemporaryFolder folder;
  const Dataset data = open(
      folder, line("a b", "c d e f") + line("a b c d e", "f") + line("a b c d e", "f e d c b a"),
      with(letters(bert_template)));
  struct Case {
    std::uint64_t row;
    std::int64_t length;
    Ids ids;
    Ids types;
  };
  for (const Case& one :
       {Case{0, 11, {2, 4, 5, 3, 6, 7, 8, 9, 3, 0, 0}, {0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0}},
        Case{0, 7, {2, 4, 5, 3, 6, 7, 3}, {0, 0, 0, 0, 1, 1, 1}},
        Case{0, 6, {2, 4, 3, 6, 7, 3}, {0, 0, 0, 1, 1, 1}}, Case{0, 4, {2, 3, 6, 3}, {0, 0, 1, 1}},
        Case{1, 7, {2, 4, 5, 6, 3, 9, 3}, {0, 0, 0, 0, 0, 1, 1}},
        Case{1, 4, {2, 4, 3, 3}, {0, 0, 0, 1}},
        Case{2, 9, {2, 4, 5, 6, 3, 9, 8, 7, 3}, {0, 0, 0, 0, 0, 1, 1, 1, 1}},
        Case{2, 6, {2, 4, 3, 9, 8, 3}, {0, 0, 0, 1, 1, 1}}}) {
    CAPTURE(one.row, one.length);
    const Fed found = fed(data, one.length, one.row);
    CHECK(found.ids == one.ids);
    CHECK(found.types == one.types);
  }
  CHECK(fed(data, 11, 0).mask == Ids{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
  CHECK(fed(data, -1, 0).ids.size() == 14);  // the longest pair
}

TEST_CASE("columns of a table or members of other names hold the texts of a pair") {
  const TemporaryFolder folder;
  const DatasetOptions asked = with(letters(bert_template), "premise,hypothesis");
  const Dataset table =
      open(folder, "hypothesis,premise,label\nc d e,a b,0\nf,a,1\n", asked, "rows.csv");
  CHECK(fed(table, 8).ids == Ids{2, 4, 5, 3, 6, 7, 8, 3});
  CHECK(table.target() == "label");
  const Dataset lines = open(folder,
                             R"({"premise": "a b", "hypothesis": "c d e", "label": 1})"
                             "\n",
                             asked);
  CHECK(fed(lines, 8).ids == Ids{2, 4, 5, 3, 6, 7, 8, 3});
  // A column whose name has a comma is one column.
  const Dataset single = open(folder,
                              R"({"a,b": "a b", "label": 1})"
                              "\n",
                              with(letters(bert_template), "a,b"));
  CHECK(fed(single, 4).ids == Ids{2, 4, 5, 3});
  CHECK(fed(single, 4).types == Ids(4, 0));
}

TEST_CASE("a model with an input for each text of a pair reads them apart") {
  const TemporaryFolder folder;
  const Dataset data =
      open(folder, line("a b", "c d e") + line("f", "a b c d"), with(letters(bert_template)));
  const auto fed_to = [&](std::int64_t length, const char* second, std::uint64_t row) {
    std::vector<PortInfo> inputs;
    for (const std::string end : {"", second}) {
      for (const char* name : {"input_ids", "token_type_ids", "attention_mask"}) {
        inputs.push_back(port(name + end, DType::int64, {-1, length}));
      }
    }
    Feeder feeder(inputs, data);
    const std::vector<std::uint64_t> rows{row};
    std::vector<Ids> found;
    for (const auto& [name, value] : feeder.take(rows)) {
      const auto all = value.tensor().values<std::int64_t>();
      found.emplace_back(all.begin(), all.end());
    }
    return found;
  };
  CHECK(fed_to(6, "_pair", 0) == std::vector<Ids>{{2, 4, 5, 3, 0, 0},
                                                  Ids(6, 0),
                                                  {1, 1, 1, 1, 0, 0},
                                                  {2, 6, 7, 8, 3, 0},
                                                  Ids(6, 0),
                                                  {1, 1, 1, 1, 1, 0}});
  // Cut off alike; as long as the longest text of both columns where the model leaves it open.
  CHECK(fed_to(4, "_pair", 1)[0] == Ids{2, 9, 3, 0});
  CHECK(fed_to(4, "_pair", 1)[3] == Ids{2, 4, 5, 3});
  CHECK(fed_to(-1, "_pair", 1)[0] == Ids{2, 9, 3, 0, 0, 0});
  CHECK(fed_to(-1, "_pair", 1)[3] == Ids{2, 4, 5, 6, 7, 3});
  CHECK_THROWS_WITH(fed_to(6, "_other", 0), Contains("input 'input_ids_other'"));
}

TEST_CASE("pairs without a label are pairs, no texts of a model of the next token") {
  const TemporaryFolder folder;
  const Dataset data =
      open(folder, "{\"text\": \"a b\", \"text_pair\": \"c\"}\n", with(letters(bert_template)));
  CHECK(data.text()->column == "text,text_pair");
  CHECK(data.target().empty());
  CHECK(fed(data, 6).ids == Ids{2, 4, 5, 3, 6, 3});
}

TEST_CASE("a model with an input for each text of a pair refuses single texts") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, "{\"text\": \"a b\"}\n", with(letters(bert_template)));
  const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, 6}),
                                     port("input_ids_pair", DType::int64, {-1, 6})};
  CHECK_THROWS_WITH(Feeder(inputs, data), Contains("no array fits input 'input_ids_pair'"));
}

TEST_CASE("pairs without both texts, or without a rule that joins them, are refused") {
  const DatasetOptions options = with(letters(bert_template));
  CHECK_THAT(refusal(line("a", "b") + "{\"text\": \"a\", \"label\": 1}\n", options),
             Contains("line 2 has no text 'text_pair'"));
  CHECK_THAT(refusal(line("a", "b"), {}), Contains("pairs of texts need a tokenizer"));
  const std::string reversed =
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],)"
      R"("pair":[{"Sequence":{"id":"B","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],)"
      R"("special_tokens":{}})";
  CHECK_THAT(refusal(line("a", "b"), with(letters(reversed))),
             Contains("the post_processor of a tokenizer.json"));
  CHECK_THAT(refusal("text,other,text_pair\na,1,b\n", options, "rows.csv"),
             Contains("'text_pair' is the second text of a pair, so the target must be named"));
  CHECK_THAT(refusal("text,label\na,1\n", with(letters(bert_template), "text,other"), "rows.csv"),
             Contains("'other'"));
}

}  // namespace ondine::test
