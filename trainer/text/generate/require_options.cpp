#include "trainer/text/generate/require_options.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "trainer/options/parse.h"

namespace ondine::text {

void require_ranges(const GenerateOptions& options) {
  const auto require = [](bool holds, std::string_view what, std::string_view needed,
                          double value) {
    if (!holds) {
      fail(ErrorCode::invalid_option, "the ", what, " must be ", needed, ", it is ", value);
    }
  };
  require(options.temperature >= 0 && std::isfinite(options.temperature), "temperature",
          "at least 0", options.temperature);
  if (options.top_k) {
    require(*options.top_k >= 1, "top-k", "at least 1", static_cast<double>(*options.top_k));
  }
  if (options.top_p) {
    require(*options.top_p > 0 && *options.top_p <= 1, "top-p", "above 0 and at most 1",
            *options.top_p);
  }
  if (options.min_p) {
    require(*options.min_p >= 0 && *options.min_p <= 1, "min-p", "from 0 to 1", *options.min_p);
  }
  if (options.repeat_penalty) {
    require(*options.repeat_penalty > 0 && std::isfinite(*options.repeat_penalty), "repeat-penalty",
            "above 0", *options.repeat_penalty);
  }
  if (std::ranges::any_of(options.stop, [](const std::string& text) { return text.empty(); })) {
    fail(ErrorCode::invalid_option, "a stop text is empty");
  }
}

void require_effects(const GenerateOptions& options, OptionSpelling spelling) {
  if (options.temperature != 0) return;
  const std::pair<const char*, bool> drawn[] = {{"top-k", options.top_k.has_value()},
                                                {"top-p", options.top_p.has_value()},
                                                {"min-p", options.min_p.has_value()},
                                                {"seed", options.seed.has_value()}};
  for (const auto& [name, given] : drawn) {
    if (!given) continue;
    fail(ErrorCode::invalid_option, options::spelled(name, spelling), " has no effect with ",
         options::spelled("temperature", spelling),
         " 0, which takes the token with the largest score");
  }
}

}  // namespace ondine::text
