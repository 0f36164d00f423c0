#include "trainer/data/text/json_lines.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"

namespace ondine::data {
namespace {

constexpr int most_levels = 100;

class LineParser {
 public:
  LineParser(std::string_view line, std::uint64_t number, std::span<const std::string> keys)
      : line_(line), number_(number), keys_(keys) {}

  bool is_empty() {
    skip_space();
    return at_ == line_.size();
  }

  void read_object(std::vector<JsonMember>& members) {
    members.clear();
    if (peek() != '{') fail(ErrorCode::corrupt, "line ", number_, ": not a JSON object");
    read_members([&](std::string key) {
      JsonMember member;
      member.key = std::move(key);
      read_value(member);
      if (std::find(keys_.begin(), keys_.end(), member.key) == keys_.end()) return;
      for (const JsonMember& other : members) {
        if (other.key != member.key) continue;
        fail(ErrorCode::corrupt, "line ", number_, " has ", quoted(member.key), " twice");
      }
      members.push_back(std::move(member));
    });
    if (!is_empty()) reject("text follows the object");
  }

 private:
  [[noreturn]] void reject(const char* what) const {
    fail(ErrorCode::corrupt, "line ", number_, ", byte ", at_ + 1, ": not JSON, ", what);
  }

  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  void skip_space() { at_ = std::min(line_.find_first_not_of(" \t\r", at_), line_.size()); }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* what) {
    if (!accept(c)) reject(what);
  }

  template <class Read>
  void read_members(const Read& read) {
    expect('{', "'{' expected");
    if (accept('}')) return;
    do {
      skip_space();
      if (peek() != '"') reject("a key expected");
      std::string key = read_text();
      expect(':', "':' expected");
      read(std::move(key));
    } while (accept(','));
    expect('}', "',' or '}' expected");
  }

  void read_value(JsonMember& member) {
    skip_space();
    const std::size_t first = at_;
    member.kind = JsonMember::Kind::other;
    if (peek() == '"') {
      member.kind = JsonMember::Kind::text;
      member.value = read_text();
    } else if (peek() == '{' || peek() == '[') {
      member.kind = JsonMember::Kind::nested;
      skip_nested();
      if (level_ == 0) member.value = line_.substr(first, at_ - first);
    } else {
      read_literal();
      member.value = line_.substr(first, at_ - first);
    }
  }

  void skip_nested() {
    if (++level_ > most_levels) reject("too deep");
    JsonMember ignored;
    if (peek() == '{') {
      read_members([&](const std::string&) { read_value(ignored); });
    } else {
      expect('[', "'[' expected");
      if (!accept(']')) {
        do {
          read_value(ignored);
        } while (accept(','));
        expect(']', "',' or ']' expected");
      }
    }
    --level_;
  }

  void read_literal() {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!line_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return;
    }
    if (line_.substr(at_).starts_with("NaN")) {
      at_ += 3;
      return;
    }
    if (peek() == '-') ++at_;
    if (line_.substr(at_).starts_with("Infinity")) {
      at_ += 8;
      return;
    }
    if (peek() == '0') {
      ++at_;
    } else {
      read_digits();
    }
    if (peek() == '.') {
      ++at_;
      read_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      read_digits();
    }
  }

  void read_digits() {
    if (peek() < '0' || peek() > '9') reject("a value expected");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  std::string read_text() {
    std::string text;
    for (++at_; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (c == '"') {
        ++at_;
        return text;
      }
      if (static_cast<unsigned char>(c) < 0x20) reject("a control character in a text");
      if (c == '\\') {
        ++at_;
        read_escape(text);
      } else {
        text += c;
      }
    }
    reject("a text has no end");
  }

  // Leaves at_ at the last character of the escape.
  void read_escape(std::string& text) {
    constexpr std::string_view codes = "\"\\/bfnrt";
    constexpr std::string_view characters = "\"\\/\b\f\n\r\t";
    if (peek() == 'u') {
      append_utf8(text, read_code_point());
      return;
    }
    const std::size_t found = peek() == '\0' ? std::string_view::npos : codes.find(peek());
    if (found == std::string_view::npos) reject("an unknown escape");
    text += characters[found];
  }

  std::uint32_t read_code_point() {
    const std::uint32_t high = read_hex();
    if (high >= 0xdc00 && high < 0xe000) reject("half of a surrogate pair");
    if (high < 0xd800 || high >= 0xe000) return high;
    if (!line_.substr(at_ + 1).starts_with("\\u")) reject("half of a surrogate pair");
    at_ += 2;
    const std::uint32_t low = read_hex();
    if (low < 0xdc00 || low >= 0xe000) reject("half of a surrogate pair");
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  }

  // The four digits after the 'u' at at_; leaves it at the last one.
  std::uint32_t read_hex() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = peek();
      if (c >= '0' && c <= '9') {
        value = value << 4 | static_cast<std::uint32_t>(c - '0');
      } else if (const char lower = static_cast<char>(c | 0x20); lower >= 'a' && lower <= 'f') {
        value = value << 4 | static_cast<std::uint32_t>(lower - 'a' + 10);
      } else {
        reject("four hexadecimal digits expected");
      }
    }
    return value;
  }

  std::string_view line_;
  std::uint64_t number_;
  std::span<const std::string> keys_;
  std::size_t at_ = 0;
  int level_ = 0;
};

}  // namespace

const JsonMember* find_member(std::span<const JsonMember> members, std::string_view key) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const JsonMember& one) { return one.key == key; });
  return found == members.end() ? nullptr : &*found;
}

const std::string& require_text(std::span<const JsonMember> members, const std::string& name,
                                std::uint64_t line) {
  const JsonMember* text = find_member(members, name);
  if (text == nullptr || text->kind != JsonMember::Kind::text) {
    fail(ErrorCode::corrupt, "line ", line, " has no text ", quoted(name));
  }
  if (text->value.find('\0') != std::string::npos) {
    fail(ErrorCode::corrupt, "line ", line, ": a character U+0000 is no text");
  }
  return text->value;
}

void parse_json_lines(
    std::string_view text, std::span<const std::string> keys,
    const std::function<void(const std::vector<JsonMember>&, std::uint64_t)>& take) {
  std::vector<JsonMember> members;
  std::uint64_t number = 0;
  while (!text.empty()) {
    check_stop();
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    LineParser line(text.substr(0, end), ++number, keys);
    if (!line.is_empty()) {
      line.read_object(members);
      take(members, number);
    }
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<std::size_t>(1, text.size()));
  }
}

}  // namespace ondine::data
