// JSON Lines: an object (RFC 8259) on each line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ondine::data {

// A member of an object.
struct JsonMember {
  enum class Kind { text, other, nested };
  std::string key;
  Kind kind = Kind::other;
  std::string value;  // of a text its characters, of other values as written
};

// nullptr where there is none of that key.
const JsonMember* find_member(std::span<const JsonMember> members, std::string_view key);
// The text of that member. Error(corrupt) that names the line if there is none, if it is no text,
// or if it has a character U+0000.
const std::string& require_text(std::span<const JsonMember> members, const std::string& name,
                                std::uint64_t line);

// Calls `take` with those members of each line that have one of the keys, and its number (from 1).
// Lines end with LF, CR LF or CR; empty lines are skipped. NaN, Infinity and -Infinity are values,
// as Python writes them. Error(corrupt) that names line and byte of what is no JSON, and the line
// of what is no object or has one of the keys twice. `text` must be UTF-8.
void parse_json_lines(
    std::string_view text, std::span<const std::string> keys,
    const std::function<void(const std::vector<JsonMember>&, std::uint64_t)>& take);

}  // namespace ondine::data
