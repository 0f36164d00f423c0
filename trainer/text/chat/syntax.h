// Syntax tree of a chat template.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/text/chat/value.h"

namespace ondine::text::chat {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind : std::uint8_t {
    constant,
    name,
    list,       // of parts
    map,        // keys and values in turns
    attribute,  // parts[0].name
    item,       // parts[0][parts[1]]
    slice,      // parts[0][parts[1]:parts[2]:parts[3]]; nullptr if left out
    call,       // parts[0](more parts)
    filter,     // parts[0] | name(more parts)
    test,       // parts[0] is name, or is not
    unary,      // name: "not" or "-"
    binary,     // name: the operator
    choice,     // parts[1] if parts[0] else parts[2], which may be nullptr
  };

  Kind kind = Kind::constant;
  int line = 0;
  std::string name;
  bool is_negated = false;
  Value constant;
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> keywords;  // of the last parts of a call or a filter
};

struct Statement;
using Block = std::vector<Statement>;

struct Statement {
  enum class Kind : std::uint8_t { text, output, set, when, loop };

  Kind kind = Kind::text;
  int line = 0;
  std::string text;
  std::vector<std::string> names;  // that are set, or what a loop calls its items
  std::string attribute;           // of a namespace that is set
  ExpressionPtr value = {};        // that is shown, set, asked for or gone through
  ExpressionPtr filter = {};       // of a loop
  Block body = {};
  Block otherwise = {};
};

}  // namespace ondine::text::chat
