#include "trainer/text/chat/expression_parser.h"

#include <algorithm>
#include <charconv>

#include "core/message.h"

namespace ondine::text::chat {
namespace {

using ExpressionKind = Expression::Kind;
constexpr int most_expression_levels = 64;
constexpr std::size_t most_chained = 1000;

// Counts what is nested.
class Level {
 public:
  Level(int& level, int line) : level_(&level) {
    if (++level > most_expression_levels) {
      fail(ErrorCode::limit, "line ", line, ": expressions are nested more than ",
           most_expression_levels, " deep");
    }
  }
  ~Level() { --*level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int* level_;
};

}  // namespace

const Token& ExpressionParser::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

bool ExpressionParser::is_word(std::string_view word, std::size_t ahead) const {
  const Token& token = peek(ahead);
  const bool is_plain = token.kind == Token::Kind::name || token.kind == Token::Kind::sign;
  return is_plain && token.text == word;
}

bool ExpressionParser::accept(std::string_view word) {
  if (!is_word(word)) return false;
  ++at_;
  return true;
}

void ExpressionParser::reject(const std::string& what) const {
  const std::string found = is_at_end() ? "the end of the tag" : quoted(peek().text);
  fail(ErrorCode::corrupt, "line ", line(), ": ", what, " expected, found ", found);
}

void ExpressionParser::expect(std::string_view word) {
  if (!accept(word)) reject(quoted(word));
}

std::string ExpressionParser::expect_name(const char* what) {
  if (peek().kind != Token::Kind::name) reject(what);
  return tokens_[at_++].text;
}

void ExpressionParser::expect_end() {
  if (!is_at_end()) reject("the end of the tag");
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind, std::string name) const {
  auto result = std::make_unique<Expression>();
  result->kind = kind;
  result->line = line();
  result->name = std::move(name);
  return result;
}

ExpressionPtr ExpressionParser::join(ExpressionPtr left, std::string sign,
                                     ExpressionPtr right) const {
  ExpressionPtr result = make(ExpressionKind::binary, std::move(sign));
  result->parts.push_back(std::move(left));
  result->parts.push_back(std::move(right));
  return result;
}

ExpressionPtr ExpressionParser::read() {
  const Level level(level_, line());
  ExpressionPtr value = read_or();
  if (!accept("if")) return value;
  ExpressionPtr choice = make(ExpressionKind::choice);
  choice->parts.push_back(read_or());
  choice->parts.push_back(std::move(value));
  choice->parts.push_back(accept("else") ? read() : nullptr);
  return choice;
}

// Operators of one rank, from left to right. All of them have two parts at least, so that their
// number bounds the depth of the tree.
ExpressionPtr ExpressionParser::read_chain(Reader next,
                                           std::initializer_list<std::string_view> signs) {
  ExpressionPtr left = (this->*next)();
  for (std::size_t count = 0;; ++count) {
    const auto sign =
        std::find_if(signs.begin(), signs.end(), [&](auto one) { return is_word(one); });
    if (sign == signs.end()) return left;
    if (count == most_chained) {
      fail(ErrorCode::limit, "line ", line(), ": more than ", most_chained, " operators in a row");
    }
    ++at_;
    left = join(std::move(left), std::string(*sign), (this->*next)());
  }
}

ExpressionPtr ExpressionParser::read_not() {
  const Level level(level_, line());
  if (!is_word("not")) return read_comparison();
  ++at_;
  ExpressionPtr result = make(ExpressionKind::unary, "not");
  result->parts.push_back(read_not());
  return result;
}

ExpressionPtr ExpressionParser::read_comparison() {
  const auto sign = [&]() -> std::string {
    for (const std::string_view one : {"==", "!=", "<", ">", "<=", ">=", "in"}) {
      if (accept(one)) return std::string(one);
    }
    if (!is_word("not") || !is_word("in", 1)) return {};
    at_ += 2;
    return "not in";
  };
  ExpressionPtr left = read_sum();
  std::string first = sign();
  if (first.empty()) return left;
  left = join(std::move(left), std::move(first), read_sum());
  if (!sign().empty()) {
    fail(ErrorCode::unsupported, "line ", line(), ": several comparisons in a row");
  }
  return left;
}

ExpressionPtr ExpressionParser::read_signed() {
  const Level level(level_, line());
  if (!is_word("-")) return read_filtered(read_postfix(read_primary()));
  ++at_;
  ExpressionPtr result = make(ExpressionKind::unary, "-");
  result->parts.push_back(is_word("-") ? read_signed() : read_postfix(read_primary()));
  return read_filtered(std::move(result));
}

ExpressionPtr ExpressionParser::read_postfix(ExpressionPtr value) {
  for (std::size_t count = 0; count < most_chained; ++count) {
    if (accept(".")) {
      ExpressionPtr next = make(ExpressionKind::attribute);
      next->name = expect_name("the name of a member");
      next->parts.push_back(std::move(value));
      value = std::move(next);
    } else if (is_word("[")) {
      value = read_subscript(std::move(value));
    } else if (is_word("(")) {
      ExpressionPtr call = make(ExpressionKind::call);
      call->parts.push_back(std::move(value));
      read_arguments(*call);
      value = std::move(call);
    } else {
      return value;
    }
  }
  fail(ErrorCode::limit, "line ", line(), ": an expression is too long");
}

ExpressionPtr ExpressionParser::read_subscript(ExpressionPtr value) {
  expect("[");
  ExpressionPtr first = is_word(":") ? nullptr : read();
  ExpressionPtr result = make(is_word(":") ? ExpressionKind::slice : ExpressionKind::item);
  result->parts.push_back(std::move(value));
  result->parts.push_back(std::move(first));
  while (result->kind == ExpressionKind::slice && result->parts.size() < 4 && accept(":")) {
    const bool is_open = is_word(":") || is_word("]");
    result->parts.push_back(is_open ? nullptr : read());
  }
  if (result->kind == ExpressionKind::slice) result->parts.resize(4);
  expect("]");
  return result;
}

ExpressionPtr ExpressionParser::read_filtered(ExpressionPtr value) {
  for (std::size_t count = 0; count < most_chained; ++count) {
    if (accept("|")) {
      ExpressionPtr filter = make(ExpressionKind::filter);
      filter->name = expect_name("the name of a filter");
      filter->parts.push_back(std::move(value));
      if (is_word("(")) read_arguments(*filter);
      value = std::move(filter);
    } else if (accept("is")) {
      value = read_test(std::move(value));
    } else if (is_word("(") || is_word("[") || is_word(".")) {
      value = read_postfix(std::move(value));
    } else {
      return value;
    }
  }
  fail(ErrorCode::limit, "line ", line(), ": an expression is too long");
}

ExpressionPtr ExpressionParser::read_test(ExpressionPtr value) {
  ExpressionPtr test = make(ExpressionKind::test);
  test->is_negated = accept("not");
  test->name = expect_name("the name of a test");
  test->parts.push_back(std::move(value));
  return test;
}

// In parentheses, the named ones last.
void ExpressionParser::read_arguments(Expression& call) {
  expect("(");
  while (!accept(")")) {
    const bool is_named = peek().kind == Token::Kind::name && is_word("=", 1);
    if (is_named) {
      call.keywords.push_back(expect_name("a name"));
      expect("=");
    } else if (!call.keywords.empty()) {
      reject("a named argument");
    }
    call.parts.push_back(read());
    if (!accept(",") && !is_word(")")) reject("',' or ')'");
  }
}

ExpressionPtr ExpressionParser::read_primary() {
  const Token token = peek();
  ExpressionPtr result = make(ExpressionKind::constant);
  switch (token.kind) {
    case Token::Kind::text:
      result->constant = Value::of(std::string());
      while (peek().kind == Token::Kind::text) result->constant.text += tokens_[at_++].text;
      return result;
    case Token::Kind::integer:
      ++at_;
      result->constant = Value::of(std::int64_t{std::stoll(token.text)});
      return result;
    case Token::Kind::number: {
      ++at_;
      double number = 0;
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
      result->constant = Value::of(number);
      return result;
    }
    case Token::Kind::name:
      break;
    default:
      if (is_word("[")) return read_list();
      if (is_word("{")) return read_map();
      if (!accept("(")) reject("a value");
      result = read();
      if (is_word(",")) fail(ErrorCode::unsupported, "line ", line(), ": a tuple");
      expect(")");
      return result;
  }
  ++at_;
  for (const char* yes : {"true", "True"}) {
    if (token.text == yes) result->constant = Value::of(true);
  }
  for (const char* no : {"false", "False"}) {
    if (token.text == no) result->constant = Value::of(false);
  }
  for (const char* none : {"none", "None"}) {
    if (token.text == none) result->constant = Value::none();
  }
  if (!result->constant.is(Value::Kind::undefined)) return result;
  result->kind = ExpressionKind::name;
  result->name = token.text;
  return result;
}

ExpressionPtr ExpressionParser::read_list() {
  ExpressionPtr list = make(ExpressionKind::list);
  expect("[");
  while (!accept("]")) {
    list->parts.push_back(read());
    if (!accept(",") && !is_word("]")) reject("',' or ']'");
  }
  return list;
}

ExpressionPtr ExpressionParser::read_map() {
  ExpressionPtr map = make(ExpressionKind::map);
  expect("{");
  while (!accept("}")) {
    map->parts.push_back(read());
    expect(":");
    map->parts.push_back(read());
    if (!accept(",") && !is_word("}")) reject("',' or '}'");
  }
  return map;
}

}  // namespace ondine::text::chat
