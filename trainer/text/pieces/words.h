// Where words end in texts whose spaces are U+2581.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "trainer/text/pieces/piece_model.h"

namespace ondine::text {

// Where a word ends and a space follows, from `from` on; npos where there is none.
inline std::size_t word_end(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(space_symbol, std::max<std::size_t>(from, 1));
       at != std::string_view::npos; at = text.find(space_symbol, at + space_symbol.size())) {
    if (!text.substr(0, at).ends_with(space_symbol)) return at;
  }
  return std::string_view::npos;
}

}  // namespace ondine::text
