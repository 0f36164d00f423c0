#include "trainer/text/chat/functions.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"

namespace ondine::text::chat {
namespace {

using Kind = Value::Kind;

// White space as Python's str.strip has it.
constexpr std::array<std::string_view, 29> spaces{
    " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",
    "\x1e",   "\x1f",   "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
    "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

enum class Side : std::uint8_t { left = 1, right = 2, both = 3 };

template <class Set>
std::string_view strip(std::string_view text, Side side, const Set& set) {
  const auto cut = [&](bool is_left) {
    for (bool found = true; found && !text.empty();) {
      found = false;
      for (const std::string_view one : set) {
        if (is_left ? !text.starts_with(one) : !text.ends_with(one)) continue;
        is_left ? text.remove_prefix(one.size()) : text.remove_suffix(one.size());
        found = true;
      }
    }
  };
  if (side != Side::right) cut(true);
  if (side != Side::left) cut(false);
  return text;
}

[[noreturn]] void reject(const Call& call, const std::string& what) {
  fail(ErrorCode::mismatch, "line ", call.line, ": ", quoted(call.name), " needs ", what);
}

Value stripped(const Call& call, Side side) {
  call.allow(2, {"chars"});
  const std::string& text = call.text(0, "a text");
  const Value set = call.argument(1, "chars", Value::none());
  if (set.is(Kind::none)) return Value::of(std::string(strip(text, side, spaces)));
  if (!set.is(Kind::text)) reject(call, "a text of characters");
  return Value::of(std::string(strip(text, side, characters_of(set.text))));
}

Value with_case(const Call& call, bool is_upper) {
  call.allow(1);
  std::string text = call.text(0, "a text");
  for (char& c : text) {
    if (static_cast<unsigned char>(c) > 127) {
      fail(ErrorCode::unsupported, "line ", call.line, ": ", quoted(call.name),
           " of letters that are not ASCII");
    }
    if (is_upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z') c = static_cast<char>(c ^ 0x20);
  }
  return Value::of(std::move(text));
}

Value length_of(const Call& call) {
  call.allow(1);
  const Value& value = call.arguments[0];
  std::size_t size = 0;
  if (value.is(Kind::text)) {
    size = characters_of(value.text).size();
  } else if (value.is(Kind::list)) {
    size = value.list->size();
  } else if (value.is(Kind::map)) {
    size = value.map->size();
  } else if (!value.is(Kind::undefined)) {
    reject(call, "a text, a list or a mapping");
  }
  return Value::of(static_cast<std::int64_t>(size));
}

Value replaced(const Call& call, RenderBudget& budget) {
  call.allow(3);
  if (call.arguments.size() != 3) reject(call, "what is replaced and by what");
  const std::string& text = call.text(0, "a text");
  const std::string& from = call.text(1, "a text");
  const std::string& to = call.text(2, "a text");
  if (from.empty()) reject(call, "a text that is not empty");
  std::string result;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    result += text.substr(at, found - at);
    if (found == std::string::npos) return Value::of(std::move(result));
    budget.charge(result.size() / 64 + to.size());
    result += to;
    at = found + from.size();
  }
}

Value joined(const Call& call, RenderBudget& budget) {
  call.allow(2, {"d"});
  const Value between = call.argument(1, "d", Value::of(""));
  if (!call.arguments[0].is(Kind::list)) reject(call, "a list");
  std::string result;
  bool is_first = true;
  for (const Value& one : *call.arguments[0].list) {
    const std::string text = shown(one, call.line);
    budget.charge(text.size() + between.text.size());
    result += (is_first ? std::string() : shown(between, call.line)) + text;
    is_first = false;
  }
  return Value::of(std::move(result));
}

// The first or last item.
Value end_of(const Call& call, bool is_first) {
  call.allow(1);
  const Value& value = call.arguments[0];
  if (!value.is(Kind::list)) reject(call, "a list");
  if (value.list->empty()) return Value::undefined("the " + call.name + " item of an empty list");
  return is_first ? value.list->front() : value.list->back();
}

Value split_text(const Call& call, RenderBudget& budget) {
  call.allow(2);
  const std::string& text = call.text(0, "a text");
  if (call.arguments.size() < 2 || call.text(1, "a text").empty()) {
    fail(ErrorCode::unsupported, "line ", call.line, ": 'split' without a separator");
  }
  const std::string& separator = call.text(1, "a text");
  List parts;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(separator, at);
    budget.charge(sizeof(Value) + text.size() / 64);
    parts.push_back(Value::of(text.substr(at, found - at)));
    if (found == std::string::npos) return Value::of(std::move(parts));
    at = found + separator.size();
  }
}

Value items_of(const Call& call, RenderBudget& budget) {
  call.allow(1);
  if (!call.arguments[0].is(Kind::map)) reject(call, "a mapping");
  List result;
  for (const auto& [name, value] : *call.arguments[0].map) {
    budget.charge(name.size() + sizeof(Value));
    if (call.name == "keys") result.push_back(Value::of(name));
    if (call.name == "values") result.push_back(value);
    if (call.name == "items") result.push_back(Value::of(List{Value::of(name), value}));
  }
  return Value::of(std::move(result));
}

Value range_of(const Call& call, RenderBudget& budget) {
  call.allow(2);
  for (const Value& one : call.arguments) {
    if (!one.is(Kind::integer)) reject(call, "integers");
  }
  if (call.arguments.empty()) reject(call, "an integer");
  const bool has_start = call.arguments.size() == 2;
  List result;
  for (std::int64_t i = has_start ? call.arguments[0].integer : 0;
       i < call.arguments.back().integer; ++i) {
    budget.charge(sizeof(Value));
    result.push_back(Value::of(i));
  }
  return Value::of(std::move(result));
}

[[noreturn]] void unknown(const char* what, const Call& call) {
  fail(ErrorCode::unsupported, "line ", call.line, ": the ", what, " ", quoted(call.name),
       " is not known");
}

}  // namespace

void RenderBudget::step() {
  constexpr std::size_t most = 10'000'000;
  if (++steps_ > most) fail(ErrorCode::limit, "the template takes more than ", most, " steps");
  if (steps_ % 1024 == 0) check_stop();
}

void RenderBudget::charge(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 28;
  bytes_ += bytes;
  if (bytes_ > most) {
    fail(ErrorCode::limit, "the template makes more than ", most, " bytes of text");
  }
}

Value Call::argument(std::size_t position, std::string_view keyword, Value otherwise) const {
  if (position < arguments.size()) return arguments[position];
  for (const auto& [one, value] : named) {
    if (one == keyword) return value;
  }
  return otherwise;
}

const std::string& Call::text(std::size_t position, std::string_view what) const {
  const bool is_text = position < arguments.size() && arguments[position].is(Kind::text);
  if (!is_text) {
    reject(*this, cat(what, position < arguments.size()
                                ? std::string(", not ") + arguments[position].type_name()
                                : std::string()));
  }
  return arguments[position].text;
}

void Call::allow(std::size_t most, std::initializer_list<std::string_view> keywords) const {
  for (const auto& [one, value] : named) {
    if (std::find(keywords.begin(), keywords.end(), one) != keywords.end()) continue;
    fail(ErrorCode::unsupported, "line ", line, ": the argument ", quoted(one), " of ",
         quoted(name));
  }
  if (arguments.size() <= most) return;
  fail(ErrorCode::unsupported, "line ", line, ": ", quoted(name), " with so many arguments");
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t bytes = decode_utf8(text).bytes;
    result.push_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return result;
}

std::string shown(const Value& value, int line) {
  switch (value.kind) {
    case Kind::undefined:
      return {};
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.flag ? "True" : "False";
    case Kind::integer:
      return std::to_string(value.integer);
    case Kind::text:
      return value.text;
    default:
      fail(ErrorCode::unsupported, "line ", line, ": ", value.type_name(),
           " as text; tojson writes lists and mappings");
  }
}

Value apply_filter(const Call& call, RenderBudget& budget) {
  const std::string& name = call.name;
  const Value& value = call.arguments[0];
  if (name == "trim") {
    Call text = call;
    if (!value.is(Kind::text)) text.arguments[0] = Value::of(shown(value, call.line));
    return stripped(text, Side::both);
  }
  if (name == "length" || name == "count") return length_of(call);
  if (name == "upper" || name == "lower") return with_case(call, name == "upper");
  if (name == "replace") return replaced(call, budget);
  if (name == "join") return joined(call, budget);
  if (name == "first" || name == "last") return end_of(call, name == "first");
  if (name == "items") return items_of(call, budget);
  if (name == "tojson") {
    call.allow(1);
    return Value::of(
        with_context([&] { return to_json(value); }, [&] { return cat("line ", call.line); }));
  }
  if (name == "string") {
    call.allow(1);
    return Value::of(shown(value, call.line));
  }
  if (name == "default" || name == "d") {
    call.allow(3, {"default_value", "boolean"});
    const bool by_truth = call.argument(2, "boolean", Value::of(false)).is_true();
    const bool is_absent = by_truth ? !value.is_true() : value.is(Kind::undefined);
    return is_absent ? call.argument(1, "default_value", Value::of("")) : value;
  }
  if (name == "list" && value.is(Kind::list)) return value;
  unknown("filter", call);
}

Value call_method(const Call& call, RenderBudget& budget) {
  const std::string& name = call.name;
  const Value& value = call.arguments[0];
  if (value.is(Kind::map)) {
    if (name == "items" || name == "keys" || name == "values") return items_of(call, budget);
    if (name == "get") {
      call.allow(3);
      const Value* found = value.find(call.text(1, "the name of a member"));
      return found != nullptr ? *found : call.argument(2, "", Value::none());
    }
  }
  if (!value.is(Kind::text)) {
    fail(ErrorCode::unsupported, "line ", call.line, ": the method ", quoted(name), " of ",
         value.type_name());
  }
  if (name == "strip") return stripped(call, Side::both);
  if (name == "lstrip") return stripped(call, Side::left);
  if (name == "rstrip") return stripped(call, Side::right);
  if (name == "upper" || name == "lower") return with_case(call, name == "upper");
  if (name == "replace") return replaced(call, budget);
  if (name == "split") return split_text(call, budget);
  if (name == "startswith" || name == "endswith") {
    call.allow(2);
    const std::string& part = call.text(1, "a text");
    return Value::of(name == "startswith" ? value.text.starts_with(part)
                                          : value.text.ends_with(part));
  }
  unknown("method", call);
}

Value call_function(const Call& call, RenderBudget& budget) {
  if (call.name == "raise_exception") {
    call.allow(1);
    fail(ErrorCode::mismatch,
         "the chat template refuses the conversation: ", call.text(0, "a message"));
  }
  if (call.name == "namespace") {
    if (!call.arguments.empty()) reject(call, "named arguments");
    return Value::space(Map(call.named.begin(), call.named.end()));
  }
  if (call.name == "range") return range_of(call, budget);
  unknown("function", call);
}

bool apply_test(const std::string& name, const Value& value, int line) {
  if (name == "defined") return !value.is(Kind::undefined);
  if (name == "undefined") return value.is(Kind::undefined);
  if (name == "none") return value.is(Kind::none);
  if (name == "string") return value.is(Kind::text);
  if (name == "mapping") return value.is(Kind::map);
  if (name == "number") return value.is_number();
  if (name == "boolean") return value.is(Kind::boolean);
  if (name == "integer") return value.is(Kind::integer);
  if (name == "true") return value.is(Kind::boolean) && value.flag;
  if (name == "false") return value.is(Kind::boolean) && !value.flag;
  if (name == "iterable" || name == "sequence") {
    // Jinja counts texts and undefined values among both.
    const bool has_items = value.is(Kind::list) || value.is(Kind::map) || value.is(Kind::text);
    return has_items || value.is(Kind::undefined);
  }
  fail(ErrorCode::unsupported, "line ", line, ": the test ", quoted(name), " is not known");
}

}  // namespace ondine::text::chat
