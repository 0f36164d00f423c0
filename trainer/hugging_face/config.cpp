#include "trainer/hugging_face/config.h"

#include <cmath>
#include <utility>

#include "core/message.h"
#include "trainer/hugging_face/read_text.h"

namespace ondine::hugging_face {
namespace {

using graph::JsonValue;
using Kind = JsonValue::Kind;

constexpr std::uint64_t most_config_bytes = std::uint64_t{16} << 20;

}  // namespace

std::string Config::member(std::string_view name) const {
  return cat("member ", quoted(cat(place_, name)), " of ", file_);
}

const JsonValue* Config::find(std::string_view name) const {
  const JsonValue* found = value_.find(name);
  return found == nullptr || found->kind == Kind::null ? nullptr : found;
}

const JsonValue& Config::require(std::string_view name) const {
  if (const JsonValue* found = find(name)) return *found;
  fail(ErrorCode::mismatch, member(name), " is missing");
}

std::optional<std::int64_t> Config::integer(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  if (found->kind != Kind::integer) fail(ErrorCode::corrupt, member(name), " is no integer");
  return found->integer;
}

std::int64_t Config::count(std::string_view name, std::int64_t most) const {
  require(name);
  const std::int64_t number = *integer(name);
  if (number < 1) fail(ErrorCode::corrupt, member(name), " is ", number, ", needed: 1 or more");
  if (number > most) {
    fail(ErrorCode::limit, member(name), " is ", number, ", the limit is ", most);
  }
  return number;
}

std::int64_t Config::count_or(std::string_view name, std::int64_t most, std::int64_t absent) const {
  return has(name) ? count(name, most) : absent;
}

double Config::positive(std::string_view name) const {
  const JsonValue& found = require(name);
  const bool is_number = found.kind == Kind::integer || found.kind == Kind::number;
  const double number =
      found.kind == Kind::integer ? static_cast<double>(found.integer) : found.number;
  if (!is_number || !(number > 0) || !std::isfinite(static_cast<float>(number))) {
    fail(ErrorCode::corrupt, member(name), " is no positive number");
  }
  return number;
}

double Config::positive_or(std::string_view name, double absent) const {
  return has(name) ? positive(name) : absent;
}

bool Config::flag_or(std::string_view name, bool absent) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return absent;
  if (found->kind != Kind::boolean) fail(ErrorCode::corrupt, member(name), " is not true or false");
  return found->flag;
}

std::string Config::text_or(std::string_view name, std::string absent) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return absent;
  if (found->kind != Kind::text) fail(ErrorCode::corrupt, member(name), " is no text");
  return found->text;
}

std::vector<std::string> Config::texts(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  if (found->kind != Kind::list) fail(ErrorCode::corrupt, member(name), " is no list");
  std::vector<std::string> texts;
  for (const JsonValue& item : found->items) {
    if (item.kind != Kind::text) fail(ErrorCode::corrupt, member(name), " is no list of texts");
    texts.push_back(item.text);
  }
  return texts;
}

std::optional<Config> Config::object(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  if (found->kind != Kind::object) fail(ErrorCode::corrupt, member(name), " is no object");
  return Config(*found, cat(place_, name, "."), file_);
}

void Config::require_absent(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return;
  const bool is_off = (found->kind == Kind::boolean && !found->flag) ||
                      (found->kind == Kind::integer && found->integer == 0) || found->is_empty();
  if (!is_off) fail(ErrorCode::unsupported, member(name), " is not supported");
}

void Config::require_text(std::string_view name, std::string_view known) const {
  const std::string text = text_or(name, std::string(known));
  if (text == known) return;
  fail(ErrorCode::unsupported, member(name), " is ", quoted(text), ", supported is ",
       quoted(known));
}

Config read_config(const std::filesystem::path& file, const std::string& name) {
  return with_context(
      [&] {
        JsonValue value = graph::parse_json(read_text(file, most_config_bytes));
        if (value.kind != Kind::object) fail(ErrorCode::corrupt, "is no JSON object");
        return Config(std::move(value), {}, name);
      },
      [&] { return name; });
}

}  // namespace ondine::hugging_face
