#include "core/message.h"

#include <array>
#include <charconv>

#include "core/files/separators.h"
#include "core/text/printable.h"

namespace ondine {

void message::append(std::string& out, double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end.ptr);
}

void message::append_integer(std::string& out, std::int64_t value) { out += std::to_string(value); }
void message::append_integer(std::string& out, std::uint64_t value) {
  out += std::to_string(value);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 120;
  // Not where it stands in most names.
  constexpr bool escapes_backslash = separators.find('\\') == std::string_view::npos;
  std::string out = "'";
  std::string_view rest = text;
  while (!rest.empty() && text.size() - rest.size() < longest) {
    NextCharacter character = next_character(rest);
    // A letter is not cut.
    if (text.size() - rest.size() + character.bytes > longest) break;
    if (rest[0] == '\'' || (escapes_backslash && rest[0] == '\\')) character.is_shown = false;
    append_printable(out, rest, character);
    rest.remove_prefix(character.bytes);
  }
  if (!rest.empty()) out += cat("...(", text.size(), " bytes)");
  return out + "'";
}

}  // namespace ondine
