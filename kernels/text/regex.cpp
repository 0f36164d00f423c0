#include "kernels/text/regex.h"

#include "core/message.h"
#include "core/stop.h"

#ifdef ONDINE_RE2
#include <re2/re2.h>
#endif

namespace ondine::kernels {

#ifdef ONDINE_RE2

struct Regex::Impl {
  explicit Impl(std::string_view pattern) : expression(pattern_of(pattern), options()) {}
  static re2::StringPiece pattern_of(std::string_view text) { return {text.data(), text.size()}; }
  static RE2::Options options() {
    RE2::Options options;
    options.set_log_errors(false);
    return options;
  }
  RE2 expression;
};

Regex::Regex(std::string_view pattern) : impl_(std::make_shared<const Impl>(pattern)) {
  if (!impl_->expression.ok()) {
    fail(ErrorCode::invalid_model, "pattern ", quoted(pattern),
         " is not a valid regular expression: ", impl_->expression.error());
  }
}

bool Regex::matches_all_of(std::string_view text) const {
  // RE2 cannot be stopped. In the worst case it visits all states of the pattern for each byte.
  constexpr std::uint64_t most = std::uint64_t{1} << 27;
  const auto states = static_cast<std::uint64_t>(impl_->expression.ProgramSize());
  if (states > 0 && text.size() > most / states) {
    fail(ErrorCode::limit, "a text of ", text.size(), " bytes is too long for pattern ",
         quoted(impl_->expression.pattern()), " of ", states, " states; the limit is ",
         most / states);
  }
  checkpoint(static_cast<std::int64_t>(text.size()) * 4);
  return RE2::FullMatch(Impl::pattern_of(text), impl_->expression);
}

#else

struct Regex::Impl {};

Regex::Regex(std::string_view) {
  fail(ErrorCode::unsupported, "this build has no regular expressions (RE2)");
}

bool Regex::matches_all_of(std::string_view) const { return false; }

#endif

}  // namespace ondine::kernels
