#include "graph/record/json_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/message.h"
#include "core/text/printable.h"

namespace ondine::graph {
namespace {

constexpr std::size_t most_levels = 32;

class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonValue take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(JsonValue::of(value)); }
  bool number_integer(number_integer_t value) override { return add(JsonValue::of(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= INT64_MAX) return add(JsonValue::of(static_cast<std::int64_t>(value)));
    JsonValue number = JsonValue::of(static_cast<double>(value));
    number.text = std::to_string(value);
    return add(std::move(number));
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    JsonValue number = JsonValue::of(value);
    number.text = digits;
    return add(std::move(number));
  }
  bool string(string_t& value) override { return add(JsonValue::of(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::object()); }
  bool start_array(std::size_t) override { return open(JsonValue::list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back()->find(name) != nullptr) {
      fail(ErrorCode::corrupt, "two members ", quoted(name), " of one JSON object");
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail(ErrorCode::corrupt, "no JSON at byte ", position);
  }

 private:
  JsonValue& place(JsonValue value) {
    if (open_.empty()) return root_ = std::move(value);
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonValue::Kind::object) parent.names.push_back(std::move(key_));
    return parent.items.emplace_back(std::move(value));
  }
  bool add(JsonValue value) {
    place(std::move(value));
    return true;
  }
  bool open(JsonValue value) {
    if (open_.size() >= most_levels) {
      fail(ErrorCode::limit, "more than ", most_levels, " levels of JSON");
    }
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
};

void append_text(std::string& out, const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append(std::string& out, const JsonValue& value) {
  const bool is_object = value.kind == JsonValue::Kind::object;
  switch (value.kind) {
    case JsonValue::Kind::null:
      out += "null";
      return;
    case JsonValue::Kind::boolean:
      out += value.flag ? "true" : "false";
      return;
    case JsonValue::Kind::integer:
      out += std::to_string(value.integer);
      return;
    case JsonValue::Kind::number:
      out += value.text;
      return;
    case JsonValue::Kind::text:
      return append_text(out, value.text);
    case JsonValue::Kind::list:
    case JsonValue::Kind::object:
      break;
  }
  out += is_object ? '{' : '[';
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i != 0) out += ',';
    if (is_object) {
      append_text(out, value.names[i]);
      out += ':';
    }
    append(out, value.items[i]);
  }
  out += is_object ? '}' : ']';
}

}  // namespace

JsonValue JsonValue::of(bool value) {
  JsonValue result = with(Kind::boolean);
  result.flag = value;
  return result;
}

JsonValue JsonValue::of(std::int64_t value) {
  JsonValue result = with(Kind::integer);
  result.integer = value;
  return result;
}

JsonValue JsonValue::of(double value) {
  JsonValue result = with(Kind::number);
  result.number = value;
  std::array<char, 40> digits{};
  result.text.assign(digits.data(),
                     std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  return result;
}

JsonValue JsonValue::of(std::string value) {
  JsonValue result = with(Kind::text);
  result.text = std::move(value);
  return result;
}

bool JsonValue::is_empty() const noexcept {
  return kind == Kind::null || (kind == Kind::text && text.empty()) ||
         ((kind == Kind::list || kind == Kind::object) && items.empty());
}

const JsonValue* JsonValue::find(std::string_view name) const noexcept {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

void JsonValue::set(std::string_view name, JsonValue value) {
  if (const JsonValue* found = find(name)) {
    items[static_cast<std::size_t>(found - items.data())] = std::move(value);
    return;
  }
  items.reserve(items.size() + 1);
  names.emplace_back(name);
  items.push_back(std::move(value));
}

void JsonValue::erase(std::string_view name) noexcept {
  const JsonValue* found = find(name);
  if (found == nullptr) return;
  const auto at = found - items.data();
  items.erase(items.begin() + at);
  names.erase(names.begin() + at);
}

std::string dump(const JsonValue& value) {
  std::string out;
  append(out, value);
  return out;
}

JsonValue parse_json(const std::string& text) {
  TreeBuilder builder;
  if (!nlohmann::json::sax_parse(text, &builder)) fail(ErrorCode::corrupt, "no JSON");
  return builder.take();
}

}  // namespace ondine::graph
