// Regular expressions as tokenizer.json has them, in the syntax of Oniguruma, matched by PCRE2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ondine::text::tokenizer {

// Error(unsupported) where this build lacks the library.
void require_regex();

// The pattern in the syntax of PCRE2. Error(unsupported) naming what means something else there or
// has no counterpart. `is_script` tells names of scripts.
std::string pcre_pattern(std::string_view pattern, bool (*is_script)(const std::string&));

struct RegexMatch {
  std::size_t begin;
  std::size_t end;
};

// Immutable, so any number of threads may use it.
class Regex {
 public:
  // Error(corrupt) for what is no regular expression, Error(limit) for one above 64 KiB.
  explicit Regex(std::string_view pattern);
  static Regex literal(std::string_view text);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Goes through the matches in a text of UTF-8, which must outlive it.
  class Matches {
   public:
    Matches(const Regex& regex, std::string_view text);
    ~Matches();
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    // The next one; an empty match next to the last one is none. Error(limit) where a match takes
    // more than a million steps.
    std::optional<RegexMatch> next();

   private:
    std::optional<RegexMatch> search();
    int match(std::size_t first, std::size_t starts, std::size_t end, std::uint32_t most_steps_each,
              std::uint32_t options);
    int match_quickly(std::size_t first, std::size_t starts);
    int match_slowly(std::size_t first);

    struct State;
    const Regex* regex_;
    std::string_view text_;
    std::size_t from_ = 0;
    std::optional<std::size_t> last_end_;
    std::unique_ptr<State> state_;
  };

 private:
  struct Code;
  Regex() = default;
  void compile(std::string_view pattern);

  std::string shown_;    // as in the file
  std::string literal_;  // is looked for instead of a pattern
  std::unique_ptr<Code> code_;
};

}  // namespace ondine::text::tokenizer
