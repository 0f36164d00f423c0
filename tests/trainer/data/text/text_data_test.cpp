#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/text/pieces/piece_file.h"
#include "trainer/data/text/json_lines.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// The bytes of a row as a text, each padding as '_'.
std::string taken(const Dataset& data, const PortInfo& input, std::uint64_t row) {
  Feeder feeder(std::vector{input}, data);
  const std::vector<std::uint64_t> rows{row};
  const auto feeds = feeder.take(rows);
  const Tensor& ids = feeds[0].second.tensor();
  std::string text;
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t id = input.dtype == DType::int32 ? ids.values<std::int32_t>()[at]
                                                        : ids.values<std::int64_t>()[at];
    text += id == 0 ? '_' : static_cast<char>(id);
  }
  return text;
}

DatasetOptions windows(std::int64_t length) {
  DatasetOptions options;
  options.text.length = length;
  return options;
}

// Pieces <unk> 0, <s> 1, </s> 2, a space 3, "ab" 4, "c" 5 and " d" 6.
TextEncoding few_pieces() {
  PieceFile file;
  file.add_usual().add("\xe2\x96\x81", -3).add("ab", -1).add("c", -2);
  return file
      .add(
          "\xe2\x96\x81"
          "d",
          -1)
      .encoding();
}

std::vector<std::int64_t> ids_of(const Dataset& data, const PortInfo& input, std::uint64_t row) {
  Feeder feeder(std::vector{input}, data);
  const std::vector<std::uint64_t> rows{row};
  const auto feeds = feeder.take(rows);
  const Tensor& ids = feeds[0].second.tensor();
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    result.push_back(input.dtype == DType::int32 ? ids.values<std::int32_t>()[at]
                                                 : ids.values<std::int64_t>()[at]);
  }
  return result;
}

std::vector<std::string> members_of(const std::string& text) {
  std::vector<std::string> result;
  static const std::vector<std::string> keys{"a", "b", "c", "d", "e", "k"};
  data::parse_json_lines(text, keys, [&](const auto& members, std::uint64_t line) {
    for (const data::JsonMember& one : members) {
      result.push_back(std::to_string(line) + one.key + "=" + one.value);
    }
  });
  return result;
}

}  // namespace

TEST_CASE("a text file is windows of bytes and, as labels, the bytes that follow each") {
  const TemporaryFolder folder;
  write(folder / "a_train.txt", "abcdefghij");  // 3 windows of 3 and one byte after them
  write(folder / "b_train.txt", "xyz");         // no byte after the window
  write(folder / "c_train.txt", "\xef\xbb\xbfK\xc3\xb6ln");
  write(folder / "test.txt", "12345");
  const Dataset data = Dataset::open(folder.path(), windows(3));
  REQUIRE(data.rows() == 4);
  const PortInfo text = port("text", DType::int64, {-1, 3});
  const PortInfo label = port("label", DType::int32, {-1, -1});
  CHECK(taken(data, text, 0) == "abc");
  CHECK(taken(data, label, 0) == "bcd");
  CHECK(taken(data, text, 2) == "ghi");
  CHECK(taken(data, label, 2) == "hij");
  CHECK(taken(data, text, 3) == "K\xc3\xb6");
  CHECK(taken(data, label, 3) == "\xc3\xb6l");
  CHECK(taken(data.validation(), label, 0) == "234");
  CHECK(data.text()->length == 3);
  CHECK(data.class_counts().empty());
  CHECK_THROWS_WITH(taken(data, port("text", DType::int64, {-1, 4}), 0),
                    Contains("windows have 3 ids: --text-length 4"));
  CHECK_THROWS_WITH(Dataset::open(folder / "test.txt"), Contains("--text-length"));
  CHECK_THROWS_WITH(Dataset::open(folder / "test.txt", windows(5)),
                    Contains("5 bytes") && Contains("need 6"));
}

TEST_CASE("a model takes windows of text as its input, whatever it is named, and labels") {
  const TemporaryFolder folder;
  write(folder / "a.txt", "abcdef");
  const Dataset data = Dataset::open(folder / "a.txt", windows(2));
  Feeder feeder(
      std::vector{port("ids", DType::int64, {-1, 2}), port("label", DType::int64, {-1, 2})}, data);
  const std::vector<std::uint64_t> rows{1};
  const auto feeds = feeder.take(rows);
  CHECK(feeds[0].second.tensor().values<std::int64_t>()[0] == 'c');
  CHECK(feeds[1].second.tensor().values<std::int64_t>()[0] == 'd');
  const std::vector<std::uint64_t> first{0};
  Feeder other(std::vector{port("ids", DType::int64, {-1, 2}), port("y", DType::int64, {-1, 2})},
               data);
  CHECK(other.take(first)[0].second.tensor().values<std::int64_t>()[0] == 'a');
  CHECK(other.take(first)[1].second.tensor().values<std::int64_t>()[0] == 'b');
}

TEST_CASE("a text file is windows of the pieces of a SentencePiece model") {
  using Ids = std::vector<std::int64_t>;
  const TemporaryFolder folder;
  write(folder / "train.txt",
        "\xef\xbb\xbf"
        "abc  dab\n d c ab");  // the line break is unknown
  write(folder / "test.txt", "ab");
  DatasetOptions options = windows(3);
  options.text.encoding = few_pieces();
  const Dataset data = Dataset::open(folder / "train.txt", options);
  // 3 4 5 | 6 4 0 | 6 3 5 | 3 4
  REQUIRE(data.rows() == 3);
  CHECK(ids_of(data, port("text", DType::int64, {-1, 3}), 0) == Ids{3, 4, 5});
  CHECK(ids_of(data, port("label", DType::int64, {-1, 3}), 0) == Ids{4, 5, 6});
  CHECK(ids_of(data, port("text", DType::int32, {-1, -1}), 2) == Ids{6, 3, 5});
  CHECK(ids_of(data, port("label", DType::int32, {-1, 3}), 2) == Ids{3, 5, 3});
  CHECK(data.text()->encoding == options.text.encoding);
  CHECK_THROWS_WITH(Dataset::open(folder / "test.txt", options),
                    Contains("2 pieces") && Contains("need 4"));
  write(folder / "bad.txt", "ab\xff");
  CHECK_THROWS_WITH(Dataset::open(folder / "bad.txt", options), Contains("line 1, byte 3"));
}

TEST_CASE("texts of JSON lines are pieces, and padding is the end of a text") {
  using Ids = std::vector<std::int64_t>;
  const TemporaryFolder folder;
  write(folder / "a.jsonl",
        "{\"text\": \"ab d\", \"label\": 0}\n{\"text\": \"\", \"label\": 1}\n"
        "{\"text\": \"abcc\", \"label\": 1}\n");
  DatasetOptions options;
  options.text.encoding = few_pieces();
  const Dataset data = Dataset::open(folder / "a.jsonl", options);
  REQUIRE(data.rows() == 3);
  CHECK(ids_of(data, port("text", DType::int64, {-1, -1}), 0) == Ids{3, 4, 6, 2});
  CHECK(ids_of(data, port("text", DType::int32, {-1, 3}), 2) == Ids{3, 4, 5});
  CHECK(ids_of(data, port("text", DType::int64, {-1, 2}), 1) == Ids{2, 2});
}

TEST_CASE("text that is not UTF-8 or has U+0000 is named with line and byte") {
  const TemporaryFolder folder;
  for (const auto& [bytes, message] : std::vector<std::pair<std::string, std::string>>{
           {"one\ntwo\xff!\n", "line 2, byte 4: not UTF-8"},
           {"\xe2\x82", "line 1, byte 1: not UTF-8"},
           {"a\n\nbc\xc0\x80", "line 3, byte 3: not UTF-8"},
           {std::string("ab\0c", 4), "line 1, byte 3: a character U+0000"}}) {
    write(folder / "bad.txt", bytes);
    CHECK_THROWS_WITH(Dataset::open(folder / "bad.txt", windows(2)),
                      Contains("bad.txt") && Contains(message));
    write(folder / "bad.csv", "text,y\n" + bytes);
    CHECK_THROWS_WITH(Dataset::open(folder / "bad.csv"), Contains("bad.csv") && Contains("byte"));
  }
}

TEST_CASE("JSON lines hold texts and classes, padded to the longest or cut off") {
  const TemporaryFolder folder;
  write(folder / "train.jsonl",
        "{\"text\": \"hello\", \"label\": \"ham\", \"tags\": [1, {\"a\": null}]}\n\n"
        "{\"label\":\"spam\",\"text\":\"buy \\u20ac\"}\r\n"
        "{\"text\": \"\", \"label\": \"ham\"}");
  write(folder / "val.jsonl", "{\"text\": \"x\", \"label\": \"spam\"}\n");
  const std::vector<std::filesystem::path> both{folder / "train.jsonl", folder / "val.jsonl"};
  const Dataset data = Dataset::open(both);
  REQUIRE(data.rows() == 3);
  CHECK(data.classes() == std::vector<std::string>{"ham", "spam"});
  CHECK(data.class_counts() == std::vector<std::uint64_t>{2, 1});
  CHECK(taken(data, port("text", DType::int64, {-1, -1}), 1) == "buy \xe2\x82\xac");
  CHECK(taken(data, port("text", DType::int64, {-1, -1}), 0) == "hello__");
  CHECK(taken(data, port("text", DType::int32, {-1, 3}), 0) == "hel");
  CHECK(taken(data, port("text", DType::int64, {-1, 2}), 2) == "__");
  CHECK(data.validation().rows() == 1);
  Feeder feeder(std::vector{port("label", DType::int64, {-1})}, data.validation());
  const std::vector<std::uint64_t> first{0};
  CHECK(feeder.take(first)[0].second.tensor().item<std::int64_t>() == 1);
}

TEST_CASE("a column of a CSV file is text, whichever it is named") {
  const TemporaryFolder folder;
  write(folder / "a.csv", "text,stars\n\"good, really\",5\nbad,1\n");
  const Dataset data = Dataset::open(folder / "a.csv");
  CHECK(taken(data, port("text", DType::int64, {-1, 6}), 0) == "good, ");
  CHECK(data.class_counts() == std::vector<std::uint64_t>{0, 1, 0, 0, 0, 1});
  write(folder / "b.tsv", "stars\tmessage\n5\tgood\n");
  DatasetOptions options;
  options.text.column = "message";
  CHECK(taken(Dataset::open(folder / "b.tsv", options), port("x", DType::int64, {-1, 5}), 0) ==
        "good_");
  write(folder / "c.csv", "text\nonly\n");
  CHECK(Dataset::open(folder / "c.csv").columns().size() == 1);
}

TEST_CASE("mistakes in files of texts are named with file and line") {
  const TemporaryFolder folder;
  for (const auto& [bytes, message] : std::vector<std::pair<std::string, std::string>>{
           {"{\"text\": \"a\", \"label\": 1}\n{\"label\": 1}", "line 2 has no text 'text'"},
           {"{\"text\": 5}", "line 1 has no text"},
           {"{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}", "line 2, column 'label'"},
           {"{\"text\": \"a\", \"label\": null}\n", "line 1, column 'label'"},
           {"{\"text\": \"a\", \"label\": [1]}\n", "'label' is no single value"},
           {"{\"text\": \"a\\u0000\"}\n", "line 1: a character U+0000"},
           {"{\"text\": \"a\"\n", "line 1, byte 13: not JSON, ',' or '}' expected"},
           {"[1]\n", "line 1: not a JSON object"},
           {"\n\n", "it has no texts"}}) {
    write(folder / "bad.jsonl", bytes);
    CHECK_THROWS_WITH(Dataset::open(folder / "bad.jsonl"),
                      Contains("bad.jsonl") && Contains(message));
  }
  write(folder / "t.csv", "text,y\na,b\nc\n");
  CHECK_THROWS_WITH(Dataset::open(folder / "t.csv"), Contains("line 3 has 1 fields"));
  write(folder / "train.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n");
  write(folder / "test.jsonl", "{\"text\": \"a\", \"label\": \"y\"}\n");
  const std::vector<std::filesystem::path> both{folder / "train.jsonl", folder / "test.jsonl"};
  CHECK_THROWS_WITH(Dataset::open(both), Contains("test.jsonl") && Contains("class 'y'"));
}

TEST_CASE("JSON values are read as RFC 8259 says, and nothing else is") {
  CHECK(members_of(R"({ "a" : "x\n\"\\\/\u0041\uD83D\uDE00" , "b":-1.5e+3,"c":true, "d":{}})") ==
        std::vector<std::string>{"1a=x\n\"\\/A\xf0\x9f\x98\x80", "1b=-1.5e+3", "1c=true", "1d={}"});
  CHECK(members_of("{}\n  \n{\"k\":0}\n") == std::vector<std::string>{"3k=0"});
  CHECK(members_of("{\"e\":[[],[{\"f\":[1,2]}],\"]\"]}") ==
        std::vector<std::string>{R"(1e=[[],[{"f":[1,2]}],"]"])"});
  for (const char* bad : {"{\"a\":01}",
                          "{\"a\":}",
                          "{\"a\" 1}",
                          "{a:1}",
                          "{\"a\":1,}",
                          "{\"a\":1} x",
                          "{\"a\":tru}",
                          "{\"a\":\"\\x\"}",
                          "{\"a\":\"\\ud800\"}",
                          "{\"a\":\"\\udc00\"}",
                          "{\"a\":\"\\u12g4\"}",
                          "{\"a\":\"x",
                          "{\"a\":1.}",
                          "{\"a\":-}",
                          "{\"a\":[1,]}",
                          "{\"a\":\"\t\"}",
                          "{\"a\":+1}",
                          "{\"a\":\"\\ud83d\\u0041\"}",
                          "{",
                          "\"a\""}) {
    INFO(bad);
    CHECK_THROWS_AS(members_of(bad), Error);
  }
  CHECK_THROWS_WITH(members_of("{\"a\":" + std::string(200, '[')), Contains("too deep"));
}
