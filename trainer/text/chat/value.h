// Values of chat templates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/record/json_value.h"

namespace ondine::text::chat {

struct Value;
using List = std::vector<Value>;
using Map = std::vector<std::pair<std::string, Value>>;

// Copies share lists and maps, which do not change, but for the members of a namespace.
struct Value {
  enum class Kind : std::uint8_t {
    undefined,
    none,
    boolean,
    integer,
    number,
    text,
    list,
    map,
    space
  };

  Kind kind = Kind::undefined;
  bool flag = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;  // of an undefined value its name
  std::shared_ptr<const List> list;
  std::shared_ptr<Map> map;

  static Value undefined(std::string name);
  static Value none();
  static Value of(bool value);
  static Value of(std::int64_t value);
  static Value of(double value);
  static Value of(std::string value);
  static Value of(const char* value) { return of(std::string(value)); }
  static Value of(List value);
  static Value of(Map value);
  static Value space(Map value);

  bool is(Kind one) const noexcept { return kind == one; }
  bool is_number() const noexcept;  // Booleans are, as in Python
  double as_number() const noexcept;
  bool is_true() const noexcept;
  // Member of a map or a namespace; nullptr if there is none.
  const Value* find(std::string_view name) const noexcept;
  void set(const std::string& name, Value value);  // of a namespace
  const char* type_name() const noexcept;
};

bool operator==(const Value& a, const Value& b);

Value from_json(const graph::JsonValue& json);
// As Python's json.dumps writes it, without escapes for what is not ASCII. Error(unsupported) for
// what JSON does not have.
std::string to_json(const Value& value);

}  // namespace ondine::text::chat
