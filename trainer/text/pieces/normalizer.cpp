#include "trainer/text/pieces/normalizer.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::text {
namespace {

// NFKC makes 33 bytes of 3, and 3 bytes of each space.
constexpr std::size_t most_expansion = 32;
constexpr std::size_t least_bound = 65536;

}  // namespace

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

NormalizedText::NormalizedText(const Normalizer& normalizer, std::string_view text)
    : normalizer_(&normalizer),
      rest_(text),
      left_(most_expansion * text.size() + least_bound),
      after_space_(normalizer.rules_.remove_extra_whitespaces) {
  while (after_space_ && !rest_.empty()) {
    const Normalizer::Step step = normalizer.first_step(rest_);
    if (step.text != " ") break;
    rest_.remove_prefix(step.length);
  }
  at_end_ = rest_.empty();
}

void NormalizedText::append(std::string& to, std::size_t bytes) {
  const NormalizerRules& rules = normalizer_->rules_;
  if (at_end_) return;
  if (at_start_ && rules.add_dummy_prefix && !rules.whitespace_as_suffix) to += normalizer_->space_;
  at_start_ = false;
  const std::size_t before = to.size();
  constexpr std::size_t between_checks = 4096;
  for (std::size_t steps = 0; !rest_.empty() && to.size() < bytes; ++steps) {
    if (steps % between_checks == 0) check_stop();
    Normalizer::Step step = normalizer_->first_step(rest_);
    rest_.remove_prefix(step.length);
    while (after_space_ && step.text.starts_with(' ')) step.text.remove_prefix(1);
    if (step.text.empty()) continue;
    normalizer_->append(to, step.text);
    after_space_ = rules.remove_extra_whitespaces && step.text.ends_with(' ');
  }
  if (to.size() - before > left_) {
    fail(ErrorCode::limit, "the rules of the SentencePiece model make more than ", most_expansion,
         " bytes of each byte of the text");
  }
  left_ -= to.size() - before;
  if (rest_.empty()) end(to);
}

void NormalizedText::end(std::string& to) {
  const NormalizerRules& rules = normalizer_->rules_;
  at_end_ = true;
  if (rules.remove_extra_whitespaces) {
    const std::string_view space = normalizer_->space_;
    while (to.ends_with(space)) to.resize(to.size() - space.size());
  }
  if (rules.add_dummy_prefix && rules.whitespace_as_suffix) to += normalizer_->space_;
}

}  // namespace ondine::text
