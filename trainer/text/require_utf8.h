#pragma once

#include <string_view>

namespace ondine::text {

// Error(corrupt) naming line and byte unless the text is UTF-8 without a character U+0000, which
// stands for padding.
void require_utf8(std::string_view text);

}  // namespace ondine::text
