#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("StringConcat joins texts with broadcasting") {
  const Tensor a = texts({2, 1}, {"a", "a text that is too long to be stored inside"});
  const Tensor b = texts({3}, {"", "x", "ü"});
  const Tensor z = run_op_tensor({.op = "StringConcat", .inputs = {a, b}});
  CHECK(z.shape() == Shape{2, 3});
  for_each_index({2, 3}, [&](const auto& i) {
    CHECK(z.values<std::string>()[position({2, 3}, i)] ==
          a.values<std::string>()[static_cast<std::size_t>(i[0])] +
              b.values<std::string>()[static_cast<std::size_t>(i[1])]);
  });
  const Tensor none(DType::string, {0, 1});
  CHECK(run_op_tensor({.op = "StringConcat", .inputs = {none, b}}).shape() == Shape{0, 3});
  CHECK(run_op_tensor({.op = "StringConcat", .inputs = {texts({}, {"p"}), texts({}, {"q"})}})
            .identical(texts({}, {"pq"})));
  check_refused({.op = "StringConcat", .inputs = {texts({"a", "b"}), b}}, ErrorCode::mismatch, "2");
}

namespace {

// Result of splitting a text: its pieces and their number.
struct Split {
  std::vector<std::string> pieces;
  std::int64_t count;
};

void check_split(const std::string& text, graph::Attributes attributes, const Split& want) {
  INFO(text);
  const auto got = run_op({.op = "StringSplit",
                           .inputs = {texts({text})},
                           .attributes = std::move(attributes),
                           .outputs = 2});
  CHECK(got[0].tensor().identical(
      texts({1, static_cast<std::int64_t>(want.pieces.size())}, want.pieces)));
  CHECK(got[1].tensor().identical(int64s({want.count})));
}

}  // namespace

TEST_CASE("StringSplit cuts at a delimiter and keeps empty pieces") {
  const graph::Attributes comma{{"delimiter", std::string(",")}};
  check_split("a,b,,c", comma, {{"a", "b", "", "c"}, 4});
  check_split(",", comma, {{"", ""}, 2});
  check_split("", comma, {{""}, 1});
  check_split("none", comma, {{"none"}, 1});
  check_split("a--b-c", {{"delimiter", std::string("--")}}, {{"a", "b-c"}, 2});
  const auto limited = [](std::int64_t most) {
    return graph::Attributes{{"delimiter", std::string(",")}, {"maxsplit", most}};
  };
  check_split("a,b,c,d", limited(2), {{"a", "b", "c,d"}, 3});
  check_split("a,b,c,d", limited(0), {{"a,b,c,d"}, 1});
  check_split("a,b", limited(7), {{"a", "b"}, 2});
}

TEST_CASE("StringSplit without a delimiter gives the words") {
  check_split("  one two\t three\n", {}, {{"one", "two", "three"}, 3});
  check_split("one two", {{"delimiter", std::string()}}, {{"one", "two"}, 2});
  check_split(" a  b  c ", {{"maxsplit", std::int64_t{1}}}, {{"a", "b  c "}, 2});
  check_split("a\u00a0b\u2003c", {}, {{"a", "b", "c"}, 3});
  check_split("\xff \xc3", {}, {{"\xff", "\xc3"}, 2});
  check_split("   ", {}, {{}, 0});
}

TEST_CASE("StringSplit fills shorter rows and takes any shape") {
  const Tensor x = texts({2, 2}, {"a b", "", "c", "d e f"});
  const auto got = run_op({.op = "StringSplit", .inputs = {x}, .outputs = 2});
  CHECK(got[0].tensor().identical(
      texts({2, 2, 3}, {"a", "b", "", "", "", "", "c", "", "", "d", "e", "f"})));
  CHECK(got[1].tensor().identical(Tensor::of<std::int64_t>({2, 2}, {2, 0, 1, 3})));
  const Tensor one = run_op_tensor({.op = "StringSplit", .inputs = {texts({}, {"a b"})}});
  CHECK(one.identical(texts({"a", "b"})));
  const auto none =
      run_op({.op = "StringSplit", .inputs = {Tensor(DType::string, {0})}, .outputs = 2});
  CHECK(none[0].tensor().shape() == Shape{0, 0});
  CHECK(none[1].tensor().shape() == Shape{0});
}

namespace {

Tensor normalize(const Tensor& x, graph::Attributes attributes) {
  return run_op_tensor(
      {.op = "StringNormalizer", .inputs = {x}, .attributes = std::move(attributes)});
}

}  // namespace

TEST_CASE("StringNormalizer removes stop words and changes case") {
  const Tensor x = texts({"Monday", "tuesday", "ÄRGER", "ΣΊΣΥΦΟΣ"});
  using Strings = std::vector<std::string>;
  CHECK(normalize(x, {}).identical(x));
  CHECK(normalize(x, {{"case_change_action", std::string("LOWER")}})
            .identical(texts({"monday", "tuesday", "ärger", "σίσυφοσ"})));
  CHECK(normalize(x, {{"case_change_action", std::string("UPPER")}})
            .identical(texts({"MONDAY", "TUESDAY", "ÄRGER", "ΣΊΣΥΦΟΣ"})));
  CHECK(normalize(x, {{"stopwords", Strings{"monday", "ärger"}}})
            .identical(texts({"tuesday", "ΣΊΣΥΦΟΣ"})));
  const std::int64_t exact = 1;
  CHECK(normalize(x, {{"stopwords", Strings{"monday", "tuesday"}}, {"is_case_sensitive", exact}})
            .identical(texts({"Monday", "ÄRGER", "ΣΊΣΥΦΟΣ"})));
  CHECK(normalize(
            x, {{"locale", std::string("no_SUCH")}, {"case_change_action", std::string("LOWER")}})
            .item<std::string>(2) == "ärger");
  CHECK(normalize(texts({"a\xff"}), {{"case_change_action", std::string("UPPER")}})
            .identical(texts({"A\xff"})));
}

TEST_CASE("StringNormalizer writes characters of three and four bytes") {
  const Tensor lower = texts({"ḁx日本", "𐐨y😀", "￿𐀀"});
  CHECK(normalize(lower, {{"case_change_action", std::string("UPPER")}})
            .identical(texts({"ḀX日本", "𐐀Y😀", "￿𐀀"})));
  CHECK(normalize(texts({"ḀX日本", "𐐀Y😀"}), {{"case_change_action", std::string("LOWER")}})
            .identical(texts({"ḁx日本", "𐐨y😀"})));
}

TEST_CASE("StringNormalizer leaves one empty text when nothing is left") {
  using Strings = std::vector<std::string>;
  const graph::Attributes stop{{"stopwords", Strings{"a"}}};
  CHECK(normalize(texts({1, 2}, {"a", "A"}), stop).identical(texts({1, 1}, {""})));
  CHECK(normalize(texts({"a"}), stop).identical(texts({""})));
  CHECK(normalize(Tensor(DType::string, {0}), {}).identical(texts({""})));
  CHECK(normalize(texts({1, 2}, {"a", "b"}), stop).identical(texts({1, 1}, {"b"})));
}

TEST_CASE("StringNormalizer refuses other shapes, cases and locales") {
  check_refused({.op = "StringNormalizer", .inputs = {texts({2, 1}, {"a", "b"})}},
                ErrorCode::mismatch, "[C] or [1, C], found [2, 1]");
  check_refused({.op = "StringNormalizer", .inputs = {texts({}, {"a"})}}, ErrorCode::mismatch,
                "found []");
  check_refused({.op = "StringNormalizer",
                 .inputs = {texts({"a"})},
                 .attributes = {{"case_change_action", std::string("lower")}}},
                ErrorCode::invalid_model, "'lower'");
}

TEST_CASE("RegexFullMatch matches whole texts") {
  const auto match = [](const std::string& pattern, const Tensor& x) {
    return run_op_tensor(
        {.op = "RegexFullMatch", .inputs = {x}, .attributes = {{"pattern", pattern}}});
  };
  const Tensor x = texts({2, 2}, {"www.example.com", "example.com", "", "www.example.com "});
  CHECK(match(R"(www\.[\w.-]+\.com)", x)
            .identical(Tensor::of<bool>({2, 2}, std::array<bool, 4>{true, false, false, false})));
  CHECK(match("", x).identical(
      Tensor::of<bool>({2, 2}, std::array<bool, 4>{false, false, true, false})));
  CHECK(match("ü.", texts({}, {"üö"})).item<bool>());
  CHECK(match("a", Tensor(DType::string, {0, 3})).shape() == Shape{0, 3});
  check_refused(
      {.op = "RegexFullMatch", .inputs = {x}, .attributes = {{"pattern", std::string("(")}}},
      ErrorCode::invalid_model, "'(' is not a valid regular expression");
  check_refused({.op = "RegexFullMatch",
                 .inputs = {x},
                 .attributes = {{"pattern", std::string("((a{100}){100}){100}")}}},
                ErrorCode::invalid_model, "is not a valid regular expression");
  check_refused({.op = "RegexFullMatch", .inputs = {x}}, ErrorCode::invalid_model, "'pattern'");
}
