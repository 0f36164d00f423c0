// A JSON value. The library's own tree, since that of nlohmann_json ends the program where its
// destructor finds no memory; its parser is used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ondine::graph {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, integer, number, text, list, object };

  Kind kind = Kind::null;
  bool flag = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;                // of a text; of a number that no other member holds, its digits
  std::vector<std::string> names;  // of an object, one for each item
  std::vector<JsonValue> items;

  static JsonValue of(bool value);
  static JsonValue of(std::int64_t value);
  static JsonValue of(double value);
  static JsonValue of(std::string value);
  static JsonValue of(const char* value) { return of(std::string(value)); }
  static JsonValue list() { return with(Kind::list); }
  static JsonValue object() { return with(Kind::object); }

  // Null, or a text, list or object without anything in it.
  bool is_empty() const noexcept;
  // Member of an object; nullptr if there is none.
  const JsonValue* find(std::string_view name) const noexcept;
  void set(std::string_view name, JsonValue value);
  void erase(std::string_view name) noexcept;

  friend bool operator==(const JsonValue&, const JsonValue&) = default;

 private:
  static JsonValue with(Kind kind) {
    JsonValue value;
    value.kind = kind;
    return value;
  }
};

// Texts must be UTF-8.
std::string dump(const JsonValue& value);
// Error(corrupt) for what is no JSON, Error(limit) for more than 32 levels.
JsonValue parse_json(const std::string& text);

}  // namespace ondine::graph
