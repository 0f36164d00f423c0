#include "trainer/text/chat/evaluator.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/text/chat/operators.h"

namespace ondine::text::chat {
namespace {

using Kind = Value::Kind;

class Evaluator {
 public:
  explicit Evaluator(Map variables) { scopes_.push_back(std::move(variables)); }

  void run(const Block& block) {
    for (const Statement& one : block) run(one);
  }
  std::string take_text() { return std::move(text_); }

 private:
  void show(std::string_view text) {
    budget_.charge(text.size());
    text_ += text;
  }

  void run(const Statement& statement) {
    budget_.step();
    switch (statement.kind) {
      case Statement::Kind::text:
        return show(statement.text);
      case Statement::Kind::output:
        return show(shown(evaluate(*statement.value), statement.line));
      case Statement::Kind::set:
        return set(statement);
      case Statement::Kind::when:
        return run(evaluate(*statement.value).is_true() ? statement.body : statement.otherwise);
      case Statement::Kind::loop:
        return loop(statement);
    }
  }

  void set(const Statement& statement) {
    Value value = evaluate(*statement.value);
    const std::string& name = statement.names[0];
    if (statement.attribute.empty()) return assign(name, std::move(value));
    Value space = look_up(name);
    if (!space.is(Kind::space)) {
      fail(ErrorCode::mismatch, "line ", statement.line, ": ", quoted(name),
           " is no namespace, but ", space.type_name());
    }
    space.set(statement.attribute, std::move(value));
  }

  void assign(const std::string& name, Value value) {
    Map& scope = scopes_.back();
    const auto found = std::find_if(scope.begin(), scope.end(),
                                    [&](const auto& one) { return one.first == name; });
    if (found != scope.end()) {
      found->second = std::move(value);
    } else {
      scope.emplace_back(name, std::move(value));
    }
  }

  Value look_up(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      for (const auto& [one, value] : *scope) {
        if (one == name) return value;
      }
    }
    return Value::undefined(name);
  }

  List items_of(const Value& value, int line) {
    if (value.is(Kind::list)) return *value.list;
    List items;
    if (value.is(Kind::map)) {
      for (const auto& one : *value.map) items.push_back(Value::of(one.first));
    } else if (!value.is(Kind::undefined)) {
      fail(ErrorCode::mismatch, "line ", line, ": a loop needs a list, not ", value.type_name());
    }
    return items;
  }

  void bind(const Statement& statement, const Value& item) {
    const auto& names = statement.names;
    if (names.size() == 1) return assign(names[0], item);
    if (!item.is(Kind::list) || item.list->size() != names.size()) {
      fail(ErrorCode::mismatch, "line ", statement.line, ": an item is no list of ", names.size());
    }
    for (std::size_t i = 0; i < names.size(); ++i) assign(names[i], (*item.list)[i]);
  }

  void loop(const Statement& statement) {
    List items = items_of(evaluate(*statement.value), statement.line);
    budget_.charge(items.size() * sizeof(Value));
    if (statement.filter) {
      std::erase_if(items, [&](const Value& item) {
        scopes_.emplace_back();
        bind(statement, item);
        const bool is_kept = evaluate(*statement.filter).is_true();
        scopes_.pop_back();
        return !is_kept;
      });
    }
    if (items.empty()) return run(statement.otherwise);
    const auto count = std::ssize(items);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Map facts{{"index0", Value::of(i)},
                {"index", Value::of(i + 1)},
                {"revindex0", Value::of(count - i - 1)},
                {"revindex", Value::of(count - i)},
                {"first", Value::of(i == 0)},
                {"last", Value::of(i + 1 == count)},
                {"length", Value::of(std::int64_t{count})}};
      facts.emplace_back("previtem", i > 0 ? items[at - 1] : Value::undefined("loop.previtem"));
      facts.emplace_back("nextitem",
                         i + 1 < count ? items[at + 1] : Value::undefined("loop.nextitem"));
      scopes_.emplace_back();
      assign("loop", Value::of(std::move(facts)));
      bind(statement, items[at]);
      run(statement.body);
      scopes_.pop_back();
    }
  }

  Value evaluate(const Expression& one) {
    budget_.step();
    using Type = Expression::Kind;
    switch (one.kind) {
      case Type::constant:
        return one.constant;
      case Type::name:
        return look_up(one.name);
      case Type::list:
      case Type::map:
        return collect(one);
      case Type::attribute:
        return member_of(evaluate(*one.parts[0]), Value::of(one.name), one.line);
      case Type::item:
        return member_of(evaluate(*one.parts[0]), evaluate(*one.parts[1]), one.line);
      case Type::slice:
        return slice(one);
      case Type::call:
      case Type::filter:
        return call(one);
      case Type::test:
        return Value::of(apply_test(one.name, evaluate(*one.parts[0]), one.line) != one.is_negated);
      case Type::unary:
        return negate(one.name, evaluate(*one.parts[0]), one.line);
      case Type::binary:
        return binary(one);
      case Type::choice:
        break;
    }
    if (evaluate(*one.parts[0]).is_true()) return evaluate(*one.parts[1]);
    return one.parts[2] ? evaluate(*one.parts[2]) : Value::undefined("a choice without else");
  }

  Value binary(const Expression& one) {
    Value left = evaluate(*one.parts[0]);
    if (one.name == "and") return left.is_true() ? evaluate(*one.parts[1]) : left;
    if (one.name == "or") return left.is_true() ? left : evaluate(*one.parts[1]);
    return combine(one.name, left, evaluate(*one.parts[1]), one.line, budget_);
  }

  Value collect(const Expression& one) {
    List items;
    for (const ExpressionPtr& part : one.parts) items.push_back(evaluate(*part));
    budget_.charge(items.size() * sizeof(Value));
    if (one.kind == Expression::Kind::list) return Value::of(std::move(items));
    Value map = Value::of(Map());
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (!items[i].is(Kind::text)) {
        fail(ErrorCode::unsupported, "line ", one.line, ": a key that is ", items[i].type_name());
      }
      map.set(items[i].text, std::move(items[i + 1]));
    }
    return map;
  }

  Value slice(const Expression& one) {
    std::vector<Value> bounds;
    for (std::size_t i = 1; i < 4; ++i) {
      bounds.push_back(one.parts[i] ? evaluate(*one.parts[i]) : Value::none());
    }
    return slice_of(evaluate(*one.parts[0]), bounds, one.line, budget_);
  }

  Value call(const Expression& one) {
    Call call{one.name, one.line, {}, {}};
    const bool is_filter = one.kind == Expression::Kind::filter;
    const Expression& callee = *one.parts[0];
    const bool is_method = !is_filter && callee.kind == Expression::Kind::attribute;
    if (is_filter) call.arguments.push_back(evaluate(callee));
    if (is_method) call.arguments.push_back(evaluate(*callee.parts[0]));
    if (!is_filter) {
      if (!is_method && callee.kind != Expression::Kind::name) {
        fail(ErrorCode::unsupported, "line ", one.line, ": a call of what has no name");
      }
      call.name = callee.name;
    }
    const std::size_t first_named = one.parts.size() - one.keywords.size();
    for (std::size_t i = 1; i < one.parts.size(); ++i) {
      Value value = evaluate(*one.parts[i]);
      if (i < first_named) {
        call.arguments.push_back(std::move(value));
      } else {
        call.named.emplace_back(one.keywords[i - first_named], std::move(value));
      }
    }
    if (is_filter) return apply_filter(call, budget_);
    return is_method ? call_method(call, budget_) : call_function(call, budget_);
  }

  std::vector<Map> scopes_;
  RenderBudget budget_;
  std::string text_;
};

}  // namespace

std::string render(const Block& block, Map variables) {
  Evaluator evaluator(std::move(variables));
  evaluator.run(block);
  return evaluator.take_text();
}

}  // namespace ondine::text::chat
