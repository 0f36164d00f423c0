#include "kernels/text/unicode.h"

#include "core/text/utf8.h"

namespace ondine::kernels {
namespace {

bool is_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0d) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace

std::size_t leading_space(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const CodePoint c = decode_utf8(text);
  return c.valid && is_space(c.value) ? c.bytes : 0;
}

}  // namespace ondine::kernels
