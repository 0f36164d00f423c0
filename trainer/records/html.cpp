#include "trainer/records/html.h"

#include <cmath>

namespace ondine::records {

std::string html_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
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
