// Members of the objects of a data record.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/dataset.h>

#include "core/message.h"
#include "core/text/base64.h"
#include "graph/record/json_value.h"

namespace ondine::graph {

// Reads members of one object; a member of another type than the format says is corrupt.
class JsonReader {
  using Json = JsonValue;
  using Kind = JsonValue::Kind;

 public:
  JsonReader(const Json& object, std::string place) : object_(&object), place_(std::move(place)) {}

  const Json* find(const char* name) const {
    const Json* found = object_->find(name);
    return found == nullptr || found->kind == Kind::null ? nullptr : found;
  }

  void text(const char* name, std::string& to) const {
    if (const Json* one = find(name)) to = text_of(*one, name);
  }
  void texts(const char* name, std::vector<std::string>& to) const {
    const Json* list = find(name);
    if (list == nullptr) return;
    require(list->kind == Kind::list, name, "a list");
    for (const Json& one : list->items) to.push_back(text_of(one, name));
  }
  std::optional<std::int64_t> integer(const char* name) const {
    const Json* one = find(name);
    if (one == nullptr) return {};
    require(one->kind == Kind::integer, name, "an integer");
    return one->integer;
  }
  std::int64_t count(const char* name) const {
    const auto value = integer(name);
    require(!value || *value >= 0, name, "no negative number");
    return value.value_or(0);
  }
  std::optional<double> number(const char* name) const {
    const Json* one = find(name);
    if (one == nullptr) return {};
    if (one->kind == Kind::integer) return static_cast<double>(one->integer);
    if (one->kind == Kind::text && one->text == "nan") {
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (one->kind == Kind::text && (one->text == "inf" || one->text == "-inf")) {
      const double infinity = std::numeric_limits<double>::infinity();
      return one->text == "inf" ? infinity : -infinity;
    }
    require(one->kind == Kind::number, name, "a number");
    return one->number;
  }
  bool flag(const char* name, bool otherwise) const {
    const Json* one = find(name);
    if (one == nullptr) return otherwise;
    require(one->kind == Kind::boolean, name, "true or false");
    return one->flag;
  }
  std::optional<ImageSize> size(const char* name) const {
    const Json* one = find(name);
    if (one == nullptr) return {};
    bool fits = one->kind == Kind::list && one->items.size() == 2;
    for (std::size_t i = 0; fits && i < 2; ++i) {
      const Json& extent = one->items[i];
      fits = extent.kind == Kind::integer && extent.integer > 0 && extent.integer <= INT32_MAX;
    }
    require(fits, name, "a height and a width");
    return ImageSize{one->items[0].integer, one->items[1].integer};
  }
  // Calls use(JsonReader) for the object of that name, if there is one.
  template <class Use>
  void object(const char* name, Use use) const {
    const Json* one = find(name);
    if (one == nullptr) return;
    require(one->kind == Kind::object, name, "an object");
    use(JsonReader(*one, place_ + name + "."));
  }
  template <class Use>
  void objects(const char* name, Use use) const {
    const Json* list = find(name);
    if (list == nullptr) return;
    require(list->kind == Kind::list, name, "a list of objects");
    for (const Json& one : list->items) {
      require(one.kind == Kind::object, name, "a list of objects");
      use(JsonReader(one, place_ + name + "."));
    }
  }

 private:
  void require(bool holds, const char* name, const char* what) const {
    if (!holds) fail(ErrorCode::corrupt, "member '", place_, name, "' is not ", what);
  }
  std::string text_of(const Json& one, const char* name) const {
    if (one.kind == Kind::text) return one.text;
    const Json* bytes = one.kind == Kind::object ? one.find("base64") : nullptr;
    require(bytes != nullptr && bytes->kind == Kind::text, name, "a text");
    return from_base64(bytes->text);
  }

  const Json* object_;
  std::string place_;
};

}  // namespace ondine::graph
