#include "trainer/text/chat/operators.h"

#include <algorithm>
#include <optional>

#include "core/message.h"

namespace ondine::text::chat {
namespace {

using Kind = Value::Kind;

[[noreturn]] void reject(const std::string& sign, const Value& left, const Value& right, int line) {
  fail(ErrorCode::mismatch, "line ", line, ": ", quoted(sign), " of ", left.type_name(), " and ",
       right.type_name(),
       left.is(Kind::undefined) || right.is(Kind::undefined)
           ? "; " + quoted(left.is(Kind::undefined) ? left.text : right.text) + " is not defined"
           : "");
}

bool contains(const Value& left, const Value& right, int line) {
  if (right.is(Kind::list)) {
    return std::find(right.list->begin(), right.list->end(), left) != right.list->end();
  }
  if (right.is(Kind::map)) return left.is(Kind::text) && right.find(left.text) != nullptr;
  if (right.is(Kind::undefined)) return false;
  if (!right.is(Kind::text) || !left.is(Kind::text)) reject("in", left, right, line);
  return right.text.find(left.text) != std::string::npos;
}

bool is_less(const std::string& sign, const Value& left, const Value& right, int line) {
  const bool are_texts = left.is(Kind::text) && right.is(Kind::text);
  if (!are_texts && (!left.is_number() || !right.is_number())) reject(sign, left, right, line);
  const auto compare = [&](const Value& a, const Value& b) {
    return are_texts ? a.text < b.text : a.as_number() < b.as_number();
  };
  if (sign == "<") return compare(left, right);
  if (sign == ">") return compare(right, left);
  return sign == "<=" ? !compare(right, left) : !compare(left, right);
}

Value sum(const Value& left, const Value& right, int line, RenderBudget& budget) {
  if (left.is(Kind::text) && right.is(Kind::text)) {
    budget.charge(left.text.size() + right.text.size());
    return Value::of(left.text + right.text);
  }
  if (!left.is(Kind::list) || !right.is(Kind::list)) reject("+", left, right, line);
  List items = *left.list;
  budget.charge((items.size() + right.list->size()) * sizeof(Value));
  items.insert(items.end(), right.list->begin(), right.list->end());
  return Value::of(std::move(items));
}

// Arithmetic of small integers, such as indices.
Value calculate(const std::string& sign, const Value& left, const Value& right, int line) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (!left.is(Kind::integer) || !right.is(Kind::integer)) reject(sign, left, right, line);
  const std::int64_t a = left.integer;
  const std::int64_t b = right.integer;
  for (const std::int64_t one : {a, b}) {
    if (one > most || one < -most) {
      fail(ErrorCode::limit, "line ", line, ": numbers above 2^31 in ", quoted(sign));
    }
  }
  if (sign == "+") return Value::of(a + b);
  if (sign == "-") return Value::of(a - b);
  if (sign == "*") return Value::of(a * b);
  if (sign == "/") fail(ErrorCode::unsupported, "line ", line, ": '/'; '//' divides integers");
  if (b == 0) fail(ErrorCode::mismatch, "line ", line, ": a division by 0");
  // Rounded down, as in Python.
  const std::int64_t rest = (a % b + b) % b;
  return Value::of(sign == "%" ? rest : (a - rest) / b);
}

// The item at a position that may be counted from the end; nothing beyond.
std::optional<std::size_t> position(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return {};
  return static_cast<std::size_t>(index);
}

std::vector<std::size_t> positions(std::span<const Value> bounds, std::size_t size, int line) {
  for (const Value& one : bounds) {
    if (one.is(Kind::none) || one.is(Kind::integer)) continue;
    fail(ErrorCode::mismatch, "line ", line, ": a slice by ", one.type_name());
  }
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t step = bounds[2].is(Kind::none) ? 1 : bounds[2].integer;
  if (step != 1 && step != -1) {
    fail(ErrorCode::unsupported, "line ", line, ": a slice by steps of ", step);
  }
  const auto bound = [&](const Value& one, std::int64_t otherwise) {
    if (one.is(Kind::none)) return otherwise;
    const std::int64_t at = one.integer < 0 ? one.integer + count : one.integer;
    return step > 0 ? std::clamp<std::int64_t>(at, 0, count)
                    : std::clamp<std::int64_t>(at, -1, count - 1);
  };
  std::vector<std::size_t> result;
  const std::int64_t end = bound(bounds[1], step > 0 ? count : -1);
  for (std::int64_t at = bound(bounds[0], step > 0 ? 0 : count - 1); step > 0 ? at < end : at > end;
       at += step) {
    result.push_back(static_cast<std::size_t>(at));
  }
  return result;
}

}  // namespace

Value combine(const std::string& sign, const Value& left, const Value& right, int line,
              RenderBudget& budget) {
  if (sign == "==") return Value::of(left == right);
  if (sign == "!=") return Value::of(!(left == right));
  if (sign == "in") return Value::of(contains(left, right, line));
  if (sign == "not in") return Value::of(!contains(left, right, line));
  if (sign == "<" || sign == ">" || sign == "<=" || sign == ">=") {
    return Value::of(is_less(sign, left, right, line));
  }
  if (sign == "~") {
    std::string text = shown(left, line) + shown(right, line);
    budget.charge(text.size());
    return Value::of(std::move(text));
  }
  if (sign == "+" && !left.is_number()) return sum(left, right, line, budget);
  return calculate(sign, left, right, line);
}

Value negate(const std::string& sign, const Value& value, int line) {
  if (sign == "not") return Value::of(!value.is_true());
  return calculate("-", Value::of(std::int64_t{0}), value, line);
}

Value member_of(const Value& value, const Value& key, int line) {
  if (value.is(Kind::undefined)) {
    fail(ErrorCode::mismatch, "line ", line, ": ", quoted(value.text), " is not defined");
  }
  if (key.is(Kind::text)) {
    const Value* found = value.find(key.text);
    return found != nullptr ? *found : Value::undefined(key.text);
  }
  if (!key.is(Kind::integer)) {
    fail(ErrorCode::mismatch, "line ", line, ": ", key.type_name(), " between brackets");
  }
  if (value.is(Kind::list)) {
    if (const auto at = position(key.integer, value.list->size())) return (*value.list)[*at];
  } else if (value.is(Kind::text)) {
    const auto characters = characters_of(value.text);
    if (const auto at = position(key.integer, characters.size())) {
      return Value::of(std::string(characters[*at]));
    }
  }
  return Value::undefined("[" + std::to_string(key.integer) + "]");
}

Value slice_of(const Value& value, std::span<const Value> bounds, int line, RenderBudget& budget) {
  if (value.is(Kind::list)) {
    List items;
    for (const std::size_t at : positions(bounds, value.list->size(), line)) {
      items.push_back((*value.list)[at]);
    }
    budget.charge(items.size() * sizeof(Value));
    return Value::of(std::move(items));
  }
  if (!value.is(Kind::text)) {
    fail(ErrorCode::mismatch, "line ", line, ": a slice of ", value.type_name());
  }
  const auto characters = characters_of(value.text);
  std::string text;
  for (const std::size_t at : positions(bounds, characters.size(), line)) text += characters[at];
  budget.charge(text.size());
  return Value::of(std::move(text));
}

}  // namespace ondine::text::chat
