#include "trainer/text/pieces/normalizer.h"

#include <algorithm>
#include <utility>

namespace ondine::text {

Normalizer::Normalizer(const NormalizerRules& rules, const PieceTrie& kept)
    : rules_(rules),
      kept_(&kept),
      space_(rules.escape_whitespaces ? space_symbol : std::string_view(" ")) {
  if (!rules_.charsmap.empty()) charsmap_ = Charsmap(std::exchange(rules_.charsmap, {}));
}

Normalizer::Step Normalizer::first_step(std::string_view text) const {
  if (const std::size_t kept = kept_->longest_prefix(text); kept != 0) {
    return {kept, text.substr(0, kept)};
  }
  const Charsmap::Match match = charsmap_.longest_match(text);
  if (match.length != 0) return {match.length, match.replacement};
  const std::size_t length = std::min(character_bytes(text[0]), text.size());
  return {length, text.substr(0, length)};
}

void Normalizer::append(std::string& to, std::string_view text) const {
  for (const char c : text) {
    if (c == ' ') {
      to += space_;
    } else {
      to += c;
    }
  }
}

std::string Normalizer::normalize(std::string_view text) const {
  std::string result;
  if (rules_.remove_extra_whitespaces) {
    while (!text.empty()) {
      const Step step = first_step(text);
      if (step.text != " ") break;
      text.remove_prefix(step.length);
    }
  }
  if (text.empty()) return result;
  result.reserve(text.size() + text.size() / 2);
  if (rules_.add_dummy_prefix && !rules_.whitespace_as_suffix) result += space_;
  bool after_space = rules_.remove_extra_whitespaces;
  while (!text.empty()) {
    Step step = first_step(text);
    text.remove_prefix(step.length);
    while (after_space && step.text.starts_with(' ')) step.text.remove_prefix(1);
    if (step.text.empty()) continue;
    append(result, step.text);
    after_space = rules_.remove_extra_whitespaces && step.text.ends_with(' ');
  }
  if (rules_.remove_extra_whitespaces) {
    while (result.ends_with(space_)) result.resize(result.size() - space_.size());
  }
  if (rules_.add_dummy_prefix && rules_.whitespace_as_suffix) result += space_;
  return result;
}

}  // namespace ondine::text
