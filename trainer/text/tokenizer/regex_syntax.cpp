// From the syntax of Oniguruma (Ruby) to that of PCRE2, for what both can say.
#include <algorithm>
#include <array>
#include <utility>

#include "core/message.h"
#include "core/text/utf8.h"
#include "trainer/text/tokenizer/regex.h"

namespace ondine::text::tokenizer {
namespace {

// Members of a class. PCRE2's own \s and \w differ.
constexpr std::string_view space_members = "\\p{White_Space}";
constexpr std::string_view not_space_members = "\\P{White_Space}";
constexpr std::string_view word_members =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}\\x{24b6}-\\x{24e9}"
    "\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}";

// Long names of general categories, which PCRE2 does not know.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> long_names{{
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"punctuation", "P"},
    {"punct", "P"},
    {"symbol", "S"},
    {"separator", "Z"},
    {"other", "C"},
}};

class Translator {
 public:
  Translator(std::string_view pattern, bool (*is_script)(const std::string&))
      : rest_(pattern), is_script_(is_script) {}

  std::string run() {
    while (!rest_.empty()) {
      if (rest_[0] == '\\') {
        escape(false);
      } else if (rest_[0] == '[') {
        char_class();
      } else if (rest_.starts_with("(?")) {
        group();
      } else {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] static void refuse(std::string_view part) {
    fail(ErrorCode::unsupported, "its part ", quoted(part), " is not supported");
  }

  void copy(std::size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(std::min(bytes, rest_.size()));
  }

  // Groups with a meaning of its own in each of the two, as (?m), are refused.
  void group() {
    for (const std::string_view known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (rest_.starts_with(known)) return copy(known.size());
    }
    for (const std::string_view known : {"(?i:", "(?i)", "(?-i:", "(?-i)"}) {
      if (rest_.starts_with(known)) return copy(known.size());
    }
    refuse(rest_.substr(0, 4));
  }

  void escape(bool in_class) {
    if (rest_.size() < 2) fail(ErrorCode::corrupt, "it ends with a backslash");
    const char c = rest_[1];
    switch (c) {
      case 's':
        return put(space_members);
      case 'S':
        return put(not_space_members);
      case 'w':
        return in_class ? put(word_members) : put(cat("[", word_members, "]"));
      case 'W':
        if (in_class) refuse("\\W in a class");
        return put(cat("[^", word_members, "]"));
      case 'b':
      case 'B':
        if (in_class) refuse("\\b in a class");
        return boundary(c == 'b');
      case 'p':
      case 'P':
        return property();
      case 'x':
      case 'u':
        return code_point();
      default:
        break;
    }
    constexpr std::string_view same = "dDnrtfvaezZAG";
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_reference = c >= '1' && c <= '9';
    if ((is_letter && same.find(c) == std::string_view::npos) || is_reference || c == '0') {
      refuse(rest_.substr(0, 2));
    }
    if (c == 'v') return put("\\x{b}");
    copy(1 + decode_utf8(rest_.substr(1)).bytes);
  }

  // In place of the two characters of an escape.
  void put(std::string_view text) {
    out_ += text;
    rest_.remove_prefix(2);
  }

  void boundary(bool wanted) {
    const std::string word = cat("[", word_members, "]");
    put(wanted ? cat("(?:(?<=", word, ")(?!", word, ")|(?<!", word, ")(?=", word, "))")
               : cat("(?:(?<=", word, ")(?=", word, ")|(?<!", word, ")(?!", word, "))"));
  }

  void code_point() {
    const bool is_braced = rest_.starts_with("\\x{");
    const std::size_t first = is_braced ? 3 : 2;
    std::size_t end = first;
    const std::size_t most = is_braced ? 8 : rest_[1] == 'u' ? 4 : 2;
    constexpr std::string_view digits = "0123456789abcdefABCDEF";
    while (end < rest_.size() && end < first + most &&
           digits.find(rest_[end]) != std::string_view::npos) {
      ++end;
    }
    const bool is_whole = is_braced ? rest_.substr(end).starts_with('}') : end == first + most;
    if (end == first || !is_whole) refuse(rest_.substr(0, end));
    out_ += cat("\\x{", rest_.substr(first, end - first), "}");
    rest_.remove_prefix(end + (is_braced ? 1 : 0));
  }

  void property() {
    const std::size_t end = rest_.find('}');
    if (rest_.size() < 4 || rest_[2] != '{' || end == std::string_view::npos || end > 64) {
      refuse(rest_.substr(0, 4));
    }
    std::string_view name = rest_.substr(3, end - 3);
    bool is_negated = rest_[1] == 'P';
    if (name.starts_with('^')) {
      is_negated = !is_negated;
      name.remove_prefix(1);
    }
    std::string simple;
    for (const char c : name) {
      if (c != '_' && c != ' ' && c != '-') simple += static_cast<char>(c | 0x20);
    }
    std::string known(name);
    for (const auto& [from, to] : long_names) {
      if (simple == from) known = to;
    }
    // A script alone; PCRE2 would take in the characters that it shares with others.
    if (known.size() > 2 && is_script_(known)) known = "sc:" + known;
    out_ += cat(is_negated ? "\\P{" : "\\p{", known, "}");
    rest_.remove_prefix(end + 1);
  }

  // A class within a class adds its members.
  void char_class() {
    std::size_t depth = 1;
    copy(rest_.starts_with("[^") ? 2 : 1);
    for (bool is_first = true; depth > 0; is_first = false) {
      if (rest_.empty()) fail(ErrorCode::corrupt, "a class has no end");
      if (rest_.starts_with("&&")) refuse("&& in a class");
      if (rest_[0] == '\\') {
        escape(true);
      } else if (rest_[0] == '[') {
        if (rest_.starts_with("[^") || rest_.starts_with("[:")) refuse(rest_.substr(0, 3));
        ++depth;
        rest_.remove_prefix(1);
      } else if (rest_[0] == ']' && !is_first) {
        if (--depth == 0) return copy(1);
        rest_.remove_prefix(1);
      } else {
        copy(decode_utf8(rest_).bytes);
      }
    }
  }

  std::string_view rest_;
  bool (*is_script_)(const std::string&);
  std::string out_;
};

}  // namespace

std::string pcre_pattern(std::string_view pattern, bool (*is_script)(const std::string&)) {
  return Translator(pattern, is_script).run();
}

}  // namespace ondine::text::tokenizer
