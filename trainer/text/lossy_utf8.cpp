#include "trainer/text/lossy_utf8.h"

#include <algorithm>

#include "core/text/utf8.h"

namespace ondine::text {
namespace {

// Bytes of the character that begins with this byte; 0 if none does.
std::size_t length_by_lead(unsigned char lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

}  // namespace

std::size_t begun_character(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t whole = length_by_lead(lead);
  std::size_t begun = 1;
  while (begun < whole && begun < text.size()) {
    const auto next = static_cast<unsigned char>(text[begun]);
    const bool is_second = begun == 1;
    const unsigned least = is_second && lead == 0xe0   ? 0xa0
                           : is_second && lead == 0xf0 ? 0x90
                                                       : 0x80;
    const unsigned most = is_second && lead == 0xed   ? 0x9f
                          : is_second && lead == 0xf4 ? 0x8f
                                                      : 0xbf;
    if (next < least || next > most) break;
    ++begun;
  }
  return begun;
}

std::string lossy_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t begun = begun_character(bytes);
    text += decode_utf8(bytes).valid ? bytes.substr(0, begun) : replacement_character;
    bytes.remove_prefix(begun);
  }
  return text;
}

std::size_t whole_characters(std::string_view bytes) noexcept {
  constexpr std::size_t longest_begun = 3;
  for (std::size_t tail = 1; tail <= std::min(longest_begun, bytes.size()); ++tail) {
    const std::string_view end = bytes.substr(bytes.size() - tail);
    const std::size_t whole = length_by_lead(static_cast<unsigned char>(end[0]));
    if (whole > tail && begun_character(end) == tail) return bytes.size() - tail;
  }
  return bytes.size();
}

}  // namespace ondine::text
