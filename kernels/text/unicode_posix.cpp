#include "kernels/text/unicode.h"

#include <locale.h>
#include <cwctype>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"

namespace ondine::kernels {
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
