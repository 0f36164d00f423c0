// Expressions in the tags of chat templates.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/chat/lexer.h"
#include "trainer/text/chat/syntax.h"

namespace ondine::text::chat {

// Reads the words of one tag from the first to the last. Errors as parse_template().
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  int line() const { return peek().line; }
  bool is_at_end() const { return peek().kind == Token::Kind::end; }
  bool accept(std::string_view word);  // a name or a sign
  void expect(std::string_view word);
  std::string expect_name(const char* what);
  void expect_end();

  ExpressionPtr read();  // with "if" and "else"
  ExpressionPtr read_without_choice() { return read_or(); }

 private:
  using Reader = ExpressionPtr (ExpressionParser::*)();

  const Token& peek(std::size_t ahead = 0) const;
  bool is_word(std::string_view word, std::size_t ahead = 0) const;
  [[noreturn]] void reject(const std::string& what) const;
  ExpressionPtr make(Expression::Kind kind, std::string name = {}) const;
  ExpressionPtr join(ExpressionPtr left, std::string sign, ExpressionPtr right) const;
  ExpressionPtr read_chain(Reader next, std::initializer_list<std::string_view> signs);

  ExpressionPtr read_or() { return read_chain(&ExpressionParser::read_and, {"or"}); }
  ExpressionPtr read_and() { return read_chain(&ExpressionParser::read_not, {"and"}); }
  ExpressionPtr read_not();
  ExpressionPtr read_comparison();
  ExpressionPtr read_sum() { return read_chain(&ExpressionParser::read_joined, {"+", "-"}); }
  ExpressionPtr read_joined() { return read_chain(&ExpressionParser::read_product, {"~"}); }
  ExpressionPtr read_product() {
    return read_chain(&ExpressionParser::read_signed, {"*", "/", "//", "%"});
  }
  ExpressionPtr read_signed();
  ExpressionPtr read_filtered(ExpressionPtr value);
  ExpressionPtr read_postfix(ExpressionPtr value);
  ExpressionPtr read_subscript(ExpressionPtr value);
  ExpressionPtr read_test(ExpressionPtr value);
  ExpressionPtr read_primary();
  ExpressionPtr read_list();
  ExpressionPtr read_map();
  void read_arguments(Expression& call);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int level_ = 0;
};

}  // namespace ondine::text::chat
