#include "graph/print/dim_names.h"

#include <charconv>

#include "graph/print/format.h"

namespace ondine::graph {

std::string with_dim_names(std::string_view text, const Symbols& symbols) {
  std::string out;
  bool is_quoted = false;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    if (*at == '\'') is_quoted = !is_quoted;
    std::size_t symbol = 0;
    if (*at == '?' && !is_quoted) {
      const auto [after, error] = std::from_chars(at + 1, end, symbol);
      if (error == std::errc() && symbol < symbols.names.size()) {
        out += printed_name(symbols.names[symbol]);
        at = after;
        continue;
      }
    }
    out += *at++;
  }
  return out;
}

}  // namespace ondine::graph
