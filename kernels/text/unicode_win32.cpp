#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "core/system/windows.h"
#include "core/text/utf8.h"
#include "kernels/text/unicode.h"

namespace ondine::kernels {
namespace {

// The character that `rule` (LCMAP_*) makes of one, which stays where the system has no rule.
char32_t mapped(char32_t c, DWORD rule, const std::wstring& locale) {
  wchar_t units[2] = {static_cast<wchar_t>(c), 0};
  int count = 1;
  if (c > 0xffff) {
    units[0] = static_cast<wchar_t>(0xd800 + ((c - 0x10000) >> 10));
    units[1] = static_cast<wchar_t>(0xdc00 + ((c - 0x10000) & 0x3ff));
    count = 2;
  }
  wchar_t result[2] = {};
  const int made = ::LCMapStringEx(locale.c_str(), rule | LCMAP_LINGUISTIC_CASING, units, count,
                                   result, 2, nullptr, nullptr, 0);
  const auto unit = [&](int i) {
    return static_cast<char32_t>(static_cast<std::uint16_t>(result[i]));
  };
  if (made == 1) return unit(0);
  if (made == 2 && unit(0) >= 0xd800 && unit(0) < 0xdc00) {
    return 0x10000 + ((unit(0) - 0xd800) << 10) + (unit(1) - 0xdc00);
  }
  return c;
}

}  // namespace

CaseChange::CaseChange(const std::string& locale) {
  std::string name = locale.substr(0, locale.find_first_of(".@"));
  std::replace(name.begin(), name.end(), '_', '-');
  std::optional<std::wstring> wide = windows::wide_name(name);
  if (!wide || !::IsValidLocaleName(wide->c_str())) {
    const std::string language = locale.substr(0, locale.find_first_of("_-."));
    for (const char* own : {"az", "lt", "tr"}) {
      if (language == own) {
        fail(ErrorCode::unsupported, "the system has no locale ", quoted(locale));
      }
    }
    wide.emplace();  // without a language
  }
  locale_ = std::make_shared<std::wstring>(std::move(*wide));
}

std::string CaseChange::apply(Case wanted, std::string_view text) const {
  if (wanted == Case::keep) return std::string(text);
  const auto& locale = *static_cast<const std::wstring*>(locale_.get());
  const DWORD rule = wanted == Case::lower ? LCMAP_LOWERCASE : LCMAP_UPPERCASE;
  std::string out;
  while (!text.empty()) {
    checkpoint(32);
    const CodePoint c = decode_utf8(text);
    if (c.valid) {
      append_utf8(out, mapped(c.value, rule, locale));
    } else {
      out += text[0];
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace ondine::kernels
