#include "trainer/text/pieces/charsmap.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"

namespace ondine::text {
namespace {

constexpr std::size_t most_replacement_bytes = 1024;
constexpr std::size_t most_key_bytes = 256;

// Fields of a unit. The unit of a value has the highest bit set, so that no label matches it.
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1U) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7fffffffU; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000ffU; }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit >> 9 & 1U) * 8); }

std::uint32_t read_unit(std::string_view bytes) {
  std::uint32_t unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    unit |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  }
  return unit;
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes) {
  if (bytes.size() < 4) fail(ErrorCode::corrupt, "precompiled_charsmap ends early");
  const std::uint32_t size = read_unit(bytes);
  bytes.remove_prefix(4);
  if (size < 4 || size % 4 != 0 || size > bytes.size()) {
    fail(ErrorCode::corrupt, "the trie of precompiled_charsmap has ", size, " of ", bytes.size(),
         " bytes");
  }
  units_.reserve(size / 4);
  for (std::size_t i = 0; i < size; i += 4) units_.push_back(read_unit(bytes.substr(i)));
  replacements_ = bytes.substr(size);
  if (!is_utf8(replacements_) || (!replacements_.empty() && replacements_.back() != '\0')) {
    fail(ErrorCode::corrupt, "replacements of precompiled_charsmap are ",
         is_utf8(replacements_) ? "without an end" : "not UTF-8");
  }
  check_trie();
}

Charsmap::Match Charsmap::find(std::string_view text, bool is_shortest) const {
  Match match;
  if (units_.empty()) return match;
  std::uint32_t value = 0;
  std::uint32_t at = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t label = static_cast<unsigned char>(text[i]);
    at ^= label;
    const std::uint32_t unit = units_[at];
    if (label_of(unit) != label) break;
    at ^= offset_of(unit);
    if (!has_value(unit)) continue;
    value = value_of(units_[at]);
    match.length = i + 1;
    if (is_shortest) break;
  }
  if (match.length != 0) match.replacement = replacements_.data() + value;
  return match;
}

// Depth first, so that a node on the way to itself is seen. Keys may share their ends, so the
// longest way down from a node that is done is kept.
void Charsmap::check_trie() const {
  enum class State : std::uint8_t { unseen, open, done };
  struct Open {
    std::uint32_t node;
    std::uint32_t base;  // its children are at base ^ label
    std::uint32_t label;
    std::size_t height;  // bytes of the longest way down
  };
  std::vector<std::uint16_t> heights(units_.size());
  std::vector<State> states(units_.size(), State::unseen);
  std::vector<Open> stack;
  const auto enter = [&](std::uint32_t node) {
    check_stop();
    const std::uint32_t base = node ^ offset_of(units_[node]);
    // The children of a node are in one block of 256.
    if ((base | 0xffU) >= units_.size()) {
      fail(ErrorCode::corrupt, "the trie of precompiled_charsmap leaves its array of ",
           units_.size(), " units at unit ", node);
    }
    if (node != 0 && has_value(units_[node])) check_value(value_of(units_[base]));
    states[node] = State::open;
    stack.push_back({node, base, 0, 0});
  };
  // The node on top has a child with this way down.
  const auto add_height = [&](std::size_t below) {
    std::size_t& height = stack.back().height;
    height = std::max(height, below + 1);
    if (stack.size() - 1 + height <= most_key_bytes) return;
    fail(ErrorCode::limit, "a key of precompiled_charsmap has more than ", most_key_bytes,
         " bytes");
  };
  enter(0);
  while (!stack.empty()) {
    Open& top = stack.back();
    if (++top.label > 0xff) {
      const std::size_t height = top.height;
      states[top.node] = State::done;
      heights[top.node] = static_cast<std::uint16_t>(height);
      stack.pop_back();
      if (!stack.empty()) add_height(height);
      continue;
    }
    const std::uint32_t child = top.base ^ top.label;
    if (label_of(units_[child]) != top.label) continue;
    if (states[child] == State::done) {
      add_height(heights[child]);
      continue;
    }
    if (states[child] == State::open) {
      fail(ErrorCode::corrupt, "the trie of precompiled_charsmap has a cycle at unit ", child);
    }
    enter(child);
    if (stack.size() > 1 + most_key_bytes) add_height(0);
  }
}

void Charsmap::check_value(std::uint32_t value) const {
  if (value >= replacements_.size()) {
    fail(ErrorCode::corrupt, "a replacement of precompiled_charsmap is at byte ", value, " of ",
         replacements_.size());
  }
  const std::string_view rest = std::string_view(replacements_).substr(value);
  if ((static_cast<unsigned char>(rest[0]) & 0xc0U) == 0x80) {
    fail(ErrorCode::corrupt, "a replacement of precompiled_charsmap begins within a character");
  }
  if (rest.substr(0, most_replacement_bytes + 1).find('\0') == std::string_view::npos) {
    fail(ErrorCode::limit, "a replacement of precompiled_charsmap has more than ",
         most_replacement_bytes, " bytes");
  }
}

}  // namespace ondine::text
