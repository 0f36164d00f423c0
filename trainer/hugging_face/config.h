// The members of a config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/record/json_value.h"

namespace ondine::hugging_face {

// A member of another kind than its reader wants is Error(corrupt), one that is needed and missing
// Error(mismatch), a number out of its range Error(limit); messages name the member.
class Config {
 public:
  Config(graph::JsonValue value, std::string place, std::string file = "config.json")
      : value_(std::move(value)), place_(std::move(place)), file_(std::move(file)) {}

  const graph::JsonValue* find(std::string_view name) const;  // null for an absent or null member
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Whether the member is there, null or not.
  bool mentions(std::string_view name) const { return value_.find(name) != nullptr; }

  // 1 to `most`.
  std::int64_t count(std::string_view name, std::int64_t most) const;
  std::int64_t count_or(std::string_view name, std::int64_t most, std::int64_t absent) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  double positive(std::string_view name) const;
  double positive_or(std::string_view name, double absent) const;
  bool flag_or(std::string_view name, bool absent) const;
  std::string text_or(std::string_view name, std::string absent) const;
  std::vector<std::string> texts(std::string_view name) const;  // empty where absent
  // An object; nothing where absent.
  std::optional<Config> object(std::string_view name) const;
  // Error(unsupported) unless the member is absent, null, false, 0 or equal to `known`.
  void require_absent(std::string_view name) const;
  void require_text(std::string_view name, std::string_view known) const;

  std::string member(std::string_view name) const;  // for messages

 private:
  const graph::JsonValue& require(std::string_view name) const;

  graph::JsonValue value_;
  std::string place_;
  std::string file_;
};

// The content of a JSON file of a folder, an object of at most 16 MB.
Config read_config(const std::filesystem::path& file, const std::string& name);

}  // namespace ondine::hugging_face
