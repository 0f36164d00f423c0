#include "trainer/records/html.h"

#include <cmath>
#include <string_view>

#include "core/text/printable.h"

namespace ondine::records {

std::string html_text(const std::string& text) {
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    const NextCharacter character = next_character(rest);
    const char c = rest[0];
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += c == '\n' ? c : ' ';
    } else {
      append_printable(result, rest, character);
    }
    rest.remove_prefix(character.bytes);
  }
  return result;
}

std::string percent(double share) { return short_number(std::round(share * 1000) / 10) + "%"; }

std::string class_text(const std::vector<std::string>& names, std::size_t index) {
  return html_text(index < names.size() ? names[index] : std::to_string(index));
}

std::string section_html(const Section& section) {
  if (section.rows.empty()) return {};
  std::string html =
      "<div class=\"panel\"><h3>" + html_text(section.title) + "</h3><dl class=\"facts\">\n";
  for (const auto& [name, text] : section.rows) {
    html += "<dt>" + html_text(name) + "</dt><dd>" + html_text(text) + "</dd>\n";
  }
  return html + "</dl></div>\n";
}

}  // namespace ondine::records
