#include "kernels/text/unicode.h"

#include <locale.h>
#include <cwctype>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::kernels {
namespace {

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

bool is_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0d) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace

CodePoint decode_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const CodePoint stray{byte(0), 1, false};
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return stray;
  char32_t value = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return stray;
    value = value << 6 | (byte(i) & 0x3fU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return stray;
  return {value, bytes, true};
}

std::size_t leading_space(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const CodePoint c = decode_utf8(text);
  return c.valid && is_space(c.value) ? c.bytes : 0;
}

CaseChange::CaseChange(const std::string& locale) {
  const auto open = [](const std::string& name) {
    return name.empty() ? locale_t{} : newlocale(LC_CTYPE_MASK, name.c_str(), locale_t{});
  };
  const std::string base = locale.substr(0, locale.find('.'));
  locale_t found = open(base.empty() ? base : base + ".UTF-8");
  if (found == locale_t{}) {
    const std::string language = locale.substr(0, locale.find_first_of("_-."));
    for (const char* own : {"az", "lt", "tr"}) {
      if (language == own) {
        fail(ErrorCode::unsupported, "the system has no locale ", quoted(locale));
      }
    }
    found = open("C.UTF-8");
  }
  if (found == locale_t{}) found = open("C");
  if (found == locale_t{}) fail(ErrorCode::unsupported, "the system has no locales");
  locale_ = std::shared_ptr<void>(found, [](void* p) { freelocale(static_cast<locale_t>(p)); });
}

std::string CaseChange::apply(Case wanted, std::string_view text) const {
  if (wanted == Case::keep) return std::string(text);
  auto* const locale = static_cast<locale_t>(locale_.get());
  std::string out;
  while (!text.empty()) {
    checkpoint(32);
    const CodePoint c = decode_utf8(text);
    if (c.valid) {
      const auto from = static_cast<wint_t>(c.value);
      append_utf8(out, static_cast<char32_t>(wanted == Case::lower ? towlower_l(from, locale)
                                                                   : towupper_l(from, locale)));
    } else {
      out += text[0];
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace ondine::kernels
