#include "trainer/text/tokenizer/unicode.h"

#include <algorithm>
#include <vector>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"

#ifdef ONDINE_UTF8PROC
#ifdef _WIN32
// The declarations are those of an archive, not of a DLL.
#define UTF8PROC_STATIC
#endif
#include <utf8proc.h>
#endif

namespace ondine::text::tokenizer {

#ifdef ONDINE_UTF8PROC

namespace {

using Code = utf8proc_int32_t;

Code as_code(char32_t c) { return static_cast<Code>(c); }

utf8proc_category_t category(char32_t c) noexcept { return utf8proc_category(as_code(c)); }

bool is_within(utf8proc_category_t category, utf8proc_category_t first, utf8proc_category_t last) {
  return category >= first && category <= last;
}

// Characters below it are their own composed forms and take part in no composition as the second.
constexpr char32_t first_composed_mark = 0x300;

// Appends the decomposition of c; marks are still in any order.
void decompose(char32_t c, bool compatible, std::vector<Code>& to) {
  Code parts[32];
  int boundary = 0;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(as_code(c), parts, std::ssize(parts), options, &boundary);
  if (count < 0 || count > std::ssize(parts)) {
    to.push_back(as_code(c));
  } else {
    to.insert(to.end(), parts, parts + count);
  }
}

int combining_class(Code c) {
  return c < as_code(first_composed_mark) ? 0 : utf8proc_get_property(c)->combining_class;
}

// utf8proc sorts marks in quadratic time.
void sort_marks(std::vector<Code>& codes) {
  for (std::size_t i = 0; i < codes.size();) {
    if (combining_class(codes[i]) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < codes.size() && combining_class(codes[end]) != 0) ++end;
    const auto before = [](Code a, Code b) { return combining_class(a) < combining_class(b); };
    const auto first = codes.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = codes.begin() + static_cast<std::ptrdiff_t>(end);
    sort_checked(std::ssize(codes), before,
                 [&](const auto& less) { std::stable_sort(first, last, less); });
    i = end;
  }
}

bool is_unchanged(std::string_view text, NormalForm form) {
  // The bytes of characters below U+0300 are below 0xcc.
  const unsigned char least = form == NormalForm::nfc ? 0xcc : 0x80;
  return std::none_of(text.begin(), text.end(),
                      [&](char c) { return static_cast<unsigned char>(c) >= least; });
}

}  // namespace

void require_unicode() {}

bool is_number(char32_t c) noexcept {
  if (c < 0x80) return c >= '0' && c <= '9';
  return is_within(category(c), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_punctuation(char32_t c) noexcept {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  return is_within(category(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_mark(char32_t c) noexcept {
  return c >= first_composed_mark &&
         is_within(category(c), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool is_nonspacing_mark(char32_t c) noexcept {
  return c >= first_composed_mark && category(c) == UTF8PROC_CATEGORY_MN;
}

bool is_control(char32_t c) noexcept {
  if (c < 0x80) return c < 0x20 || c == 0x7f;
  const utf8proc_category_t is = category(c);
  return is == UTF8PROC_CATEGORY_CC || is == UTF8PROC_CATEGORY_CF || is == UTF8PROC_CATEGORY_CO;
}

bool is_word(char32_t c) noexcept {
  if (c < 0x80) {
    return (c >= '0' && c <= '9') || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  }
  const utf8proc_category_t is = category(c);
  if (is_within(is, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) || is == UTF8PROC_CATEGORY_PC) {
    return true;
  }
  // Letters in circles and squares, and joiners.
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189) || c == 0x200c ||
         c == 0x200d;
}

std::string lowercase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    checkpoint(4);
    const CodePoint c = decode_utf8(text);
    text.remove_prefix(c.bytes);
    if (c.value < 0x80) {
      lower += static_cast<char>(c.value >= 'A' && c.value <= 'Z' ? c.value + 32 : c.value);
    } else if (c.value == 0x130) {
      lower += "i\xcc\x87";  // the only one that becomes two
    } else {
      append_utf8(lower, static_cast<char32_t>(utf8proc_tolower(as_code(c.value))));
    }
  }
  return lower;
}

std::string normal_form(std::string_view text, NormalForm form) {
  if (is_unchanged(text, form)) return std::string(text);
  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  std::vector<Code> codes;
  codes.reserve(text.size());
  while (!text.empty()) {
    checkpoint(32);
    const CodePoint c = decode_utf8(text);
    text.remove_prefix(c.bytes);
    if (c.value < 0x80) {
      codes.push_back(as_code(c.value));
    } else {
      decompose(c.value, compatible, codes);
    }
  }
  sort_marks(codes);
  auto count = std::ssize(codes);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) {
    count = utf8proc_normalize_utf32(
        codes.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  }
  std::string result;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    append_utf8(result, static_cast<char32_t>(codes[static_cast<std::size_t>(i)]));
  }
  return result;
}

std::size_t grapheme_bytes(std::string_view text) {
  CodePoint last = decode_utf8(text);
  std::size_t bytes = last.bytes;
  Code state = 0;
  while (bytes < text.size()) {
    checkpoint(16);
    const CodePoint next = decode_utf8(text.substr(bytes));
    if (utf8proc_grapheme_break_stateful(as_code(last.value), as_code(next.value), &state) != 0) {
      break;
    }
    bytes += next.bytes;
    last = next;
  }
  return bytes;
}

#else

void require_unicode() {
  fail(ErrorCode::unsupported,
       "this build reads no tokenizer.json, since it lacks the library utf8proc");
}
bool is_number(char32_t) noexcept { return false; }
bool is_punctuation(char32_t) noexcept { return false; }
bool is_mark(char32_t) noexcept { return false; }
bool is_nonspacing_mark(char32_t) noexcept { return false; }
bool is_control(char32_t) noexcept { return false; }
bool is_word(char32_t) noexcept { return false; }
std::string lowercase(std::string_view text) { return std::string(text); }
std::string normal_form(std::string_view text, NormalForm) { return std::string(text); }
std::size_t grapheme_bytes(std::string_view text) { return decode_utf8(text).bytes; }

#endif

bool is_space(char32_t c) noexcept {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

}  // namespace ondine::text::tokenizer
