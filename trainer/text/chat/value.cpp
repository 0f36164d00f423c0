#include "trainer/text/chat/value.h"

#include <algorithm>
#include <array>

#include "core/message.h"

namespace ondine::text::chat {
namespace {

Value with(Value::Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}

std::string quoted_json(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    constexpr std::string_view plain = "\"\\\n\r\t\b\f";
    constexpr std::string_view codes = "\"\\nrtbf";
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t found = plain.find(c); found != std::string_view::npos) {
      result += {'\\', codes[found]};
    } else if (byte < 0x20) {
      result += {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace

Value Value::undefined(std::string name) {
  Value value;
  value.text = std::move(name);
  return value;
}
Value Value::none() { return with(Kind::none); }
Value Value::of(bool value) {
  Value result = with(Kind::boolean);
  result.flag = value;
  return result;
}
Value Value::of(std::int64_t value) {
  Value result = with(Kind::integer);
  result.integer = value;
  return result;
}
Value Value::of(double value) {
  Value result = with(Kind::number);
  result.number = value;
  return result;
}
Value Value::of(std::string value) {
  Value result = with(Kind::text);
  result.text = std::move(value);
  return result;
}
Value Value::of(List value) {
  Value result = with(Kind::list);
  result.list = std::make_shared<const List>(std::move(value));
  return result;
}
Value Value::of(Map value) {
  Value result = with(Kind::map);
  result.map = std::make_shared<Map>(std::move(value));
  return result;
}
Value Value::space(Map value) {
  Value result = of(std::move(value));
  result.kind = Kind::space;
  return result;
}

bool Value::is_number() const noexcept {
  return kind == Kind::boolean || kind == Kind::integer || kind == Kind::number;
}

double Value::as_number() const noexcept {
  if (kind == Kind::boolean) return flag ? 1 : 0;
  return kind == Kind::integer ? static_cast<double>(integer) : number;
}

bool Value::is_true() const noexcept {
  switch (kind) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
    case Kind::number:
      return as_number() != 0;
    case Kind::text:
      return !text.empty();
    case Kind::list:
      return !list->empty();
    case Kind::map:
      return !map->empty();
    case Kind::space:
      break;
  }
  return true;
}

const Value* Value::find(std::string_view name) const noexcept {
  if (!map) return nullptr;
  const auto found =
      std::find_if(map->begin(), map->end(), [&](const auto& one) { return one.first == name; });
  return found == map->end() ? nullptr : &found->second;
}

void Value::set(const std::string& name, Value value) {
  const auto found =
      std::find_if(map->begin(), map->end(), [&](const auto& one) { return one.first == name; });
  if (found != map->end()) {
    found->second = std::move(value);
  } else {
    map->emplace_back(name, std::move(value));
  }
}

const char* Value::type_name() const noexcept {
  constexpr std::array names{"an undefined value", "none",   "a Boolean", "an integer",
                             "a number",           "a text", "a list",    "a mapping",
                             "a namespace"};
  return names[static_cast<std::size_t>(kind)];
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is(Value::Kind::number) || b.is(Value::Kind::number)) {
      return a.as_number() == b.as_number();
    }
    const auto whole = [](const Value& one) {
      return one.is(Value::Kind::boolean) ? std::int64_t{one.flag} : one.integer;
    };
    return whole(a) == whole(b);
  }
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Value::Kind::text:
      return a.text == b.text;
    case Value::Kind::list:
      return *a.list == *b.list;
    case Value::Kind::map:
      return a.map->size() == b.map->size() &&
             std::all_of(a.map->begin(), a.map->end(), [&](const auto& one) {
               const Value* other = b.find(one.first);
               return other != nullptr && *other == one.second;
             });
    case Value::Kind::space:
      return a.map == b.map;
    default:
      return true;
  }
}

Value from_json(const graph::JsonValue& json) {
  using Kind = graph::JsonValue::Kind;
  switch (json.kind) {
    case Kind::null:
      return Value::none();
    case Kind::boolean:
      return Value::of(json.flag);
    case Kind::integer:
      return Value::of(json.integer);
    case Kind::number:
      return Value::of(json.number);
    case Kind::text:
      return Value::of(json.text);
    case Kind::list: {
      List items;
      for (const graph::JsonValue& one : json.items) items.push_back(from_json(one));
      return Value::of(std::move(items));
    }
    case Kind::object:
      break;
  }
  Map members;
  for (std::size_t i = 0; i < json.names.size(); ++i) {
    members.emplace_back(json.names[i], from_json(json.items[i]));
  }
  return Value::of(std::move(members));
}

std::string to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::none:
      return "null";
    case Value::Kind::boolean:
      return value.flag ? "true" : "false";
    case Value::Kind::integer:
      return std::to_string(value.integer);
    case Value::Kind::text:
      return quoted_json(value.text);
    case Value::Kind::list: {
      std::string text = "[";
      for (const Value& one : *value.list) text += (text.size() > 1 ? ", " : "") + to_json(one);
      return text + "]";
    }
    case Value::Kind::map: {
      std::string text = "{";
      for (const auto& [name, one] : *value.map) {
        text += (text.size() > 1 ? ", " : "") + quoted_json(name) + ": " + to_json(one);
      }
      return text + "}";
    }
    default:
      fail(ErrorCode::unsupported, value.type_name(), " as JSON");
  }
}

}  // namespace ondine::text::chat
