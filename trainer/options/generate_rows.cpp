// GenerateOptions.
#include "trainer/options/groups.h"

namespace ondine::options {
namespace {

using Generate = Rows<GenerateOptions>;

void add_choice(Generate& rows) {
  rows.heading("Choice of tokens");
  rows.real("temperature", "T", "Divides the scores; 0 takes the largest one each time",
            [](GenerateOptions& to, double value) { to.temperature = value; })
      .from(0)
      .by_default("1");
  rows.integer("top-k", "K", "Choose among the K tokens with the largest scores",
               [](GenerateOptions& to, std::int64_t value) { to.top_k = value; })
      .from(1);
  rows.real("top-p", "P", "Choose among the fewest tokens whose probabilities add up to P",
            [](GenerateOptions& to, double value) { to.top_p = value; })
      .above(0)
      .within(0, 1);
  rows.real("min-p", "P", "Choose among tokens with at least this share of the largest probability",
            [](GenerateOptions& to, double value) { to.min_p = value; })
      .within(0, 1);
  rows.real("repeat-penalty", "FACTOR",
            "Divides positive scores of tokens that were there before, multiplies negative ones",
            [](GenerateOptions& to, double value) { to.repeat_penalty = value; })
      .above(0);
  rows.integer(
      "seed", "N", "Seed of the random choice; 0 if absent",
      [](GenerateOptions& to, std::int64_t value) { to.seed = static_cast<std::uint64_t>(value); });
}

void add_end(Generate& rows) {
  rows.heading("End");
  rows.integer("max-tokens", "N", "End after N tokens",
               [](GenerateOptions& to, std::int64_t value) {
                 to.max_tokens = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .by_default("100")
      .letter('n');
  rows.text("stop", "TEXT", "End before this text",
            [](GenerateOptions& to, const Given& given) { to.stop = given.texts(); })
      .repeats();
  rows.flag("ignore-end", "Go on after tokens that end a text",
            [](GenerateOptions& to, bool value) { to.ignore_end = value; });
}

Generate make_generate_rows() {
  Generate rows(OptionGroup::generate);
  add_choice(rows);
  add_end(rows);
  return rows;
}

}  // namespace

const Rows<GenerateOptions>& generate_rows() {
  static const Generate rows = make_generate_rows();
  return rows;
}

}  // namespace ondine::options
