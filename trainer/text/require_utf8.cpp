#include "trainer/text/require_utf8.h"

#include <algorithm>

#include "core/message.h"
#include "core/text/utf8.h"

namespace ondine::text {

void require_utf8(std::string_view text) {
  const std::size_t prefix = utf8_prefix(text);
  const std::size_t bad = std::min(prefix, text.find('\0'));
  if (bad == text.size()) return;
  const std::string_view before = text.substr(0, bad);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t in_line = bad - (before.rfind('\n') + 1);  // npos + 1 is 0
  fail(ErrorCode::corrupt, "line ", line, ", byte ", in_line + 1, ": ",
       bad < prefix ? "a character U+0000 is no text" : "not UTF-8");
}

}  // namespace ondine::text
