#include <algorithm>

#include <ondine/text.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/text/require_utf8.h"

namespace ondine {

std::vector<std::int64_t> TextEncoding::encode(std::string_view text) const {
  return guard_memory("encode a text", [&] {
    text::require_utf8(text);
    std::vector<std::int64_t> ids(text.size());
    std::transform(text.begin(), text.end(), ids.begin(),
                   [](char c) { return static_cast<std::int64_t>(static_cast<unsigned char>(c)); });
    return ids;
  });
}

std::string TextEncoding::decode(std::span<const std::int64_t> ids) const {
  return guard_memory("decode a text", [&] {
    std::string text;
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= size()) {
        fail(ErrorCode::mismatch, "id ", id, " is none of ", size(), " of the encoding ",
             quoted(name()));
      }
      if (id != padding) text += static_cast<char>(id);
    }
    return text;
  });
}

}  // namespace ondine
