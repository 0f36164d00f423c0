#include "trainer/text/tokenizer/regex.h"

#include <algorithm>
#include <exception>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"

#ifdef ONDINE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#ifdef _WIN32
// The declarations are those of an archive, not of a DLL.
#define PCRE2_STATIC
#endif
#include <pcre2.h>
#endif

namespace ondine::text::tokenizer {

#ifdef ONDINE_PCRE2

namespace {

constexpr std::size_t most_pattern_bytes = 65536;
constexpr std::uint32_t most_steps = 1'000'000;
constexpr std::uint32_t most_heap_kib = 65536;
// The compiled code does not count the steps of simple loops. So it sees a part of the text, and
// what reaches its end or takes more than a few steps is tried again by the interpreter.
constexpr std::size_t window_bytes = 1024;
constexpr std::uint32_t most_quick_steps = 2000;
// First characters of a match that are tried at once, with so many steps for each; more of them
// with fewer steps where that suffices.
constexpr std::size_t few_starts = 16;
constexpr std::size_t many_starts = 1024;

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

template <class T>
Owned<T> owned(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return Owned<T>(pointer);
}

Owned<pcre2_code> try_compile(const std::string& pattern, std::uint32_t options, int& error,
                              std::size_t& offset) {
  return Owned<pcre2_code>(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      options | PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK |
          PCRE2_USE_OFFSET_LIMIT |
          PCRE2_NO_START_OPTIMIZE,  // which looks at the whole text for every few first characters
      &error, &offset, nullptr));
}

bool is_script(const std::string& name) {
  int error = 0;
  std::size_t offset = 0;
  return try_compile("\\p{sc:" + name + "}", 0, error, offset) != nullptr;
}

// An exception must not pass through the library.
int look_at_clock(pcre2_callout_block* place, void* thrown) {
  try {
    checkpoint(static_cast<std::int64_t>(place->subject_length - place->current_position) / 16 +
               16);
    return 0;
  } catch (...) {
    *static_cast<std::exception_ptr*>(thrown) = std::current_exception();
    return PCRE2_ERROR_CALLOUT;
  }
}

// Where a character begins at `at` or after it; above the size of the text where none does.
std::size_t character_from(std::string_view text, std::size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80) ++at;
  return at;
}

}  // namespace

void require_regex() {}

struct Regex::Code {
  Owned<pcre2_code> quick;
  // Calls look_at_clock before each item of the pattern.
  Owned<pcre2_code> slow;
};

struct Regex::Matches::State {
  Owned<pcre2_match_data> data;
  Owned<pcre2_match_context> context;
};

void Regex::compile(std::string_view pattern) {
  if (pattern.size() > most_pattern_bytes) {
    fail(ErrorCode::limit, "it has ", pattern.size(), " bytes, more than ", most_pattern_bytes);
  }
  int error = 0;
  std::size_t offset = 0;
  code_ = std::make_unique<Code>();
  const std::string translated = pcre_pattern(pattern, is_script);
  code_->quick = try_compile(translated, 0, error, offset);
  if (code_->quick) code_->slow = try_compile(translated, PCRE2_AUTO_CALLOUT, error, offset);
  if (!code_->slow) {
    PCRE2_UCHAR text[200] = {};
    pcre2_get_error_message(error, text, std::size(text));
    fail(ErrorCode::corrupt, reinterpret_cast<const char*>(text));
  }
  // Without it, matching is slower.
  pcre2_jit_compile(code_->quick.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
}

Regex::Matches::Matches(const Regex& regex, std::string_view text) : regex_(&regex), text_(text) {
  if (!regex.code_) return;
  state_ = std::make_unique<State>();
  state_->data = owned(pcre2_match_data_create(1, nullptr));
  state_->context = owned(pcre2_match_context_create(nullptr));
  pcre2_set_heap_limit(state_->context.get(), most_heap_kib);
}

int Regex::Matches::match(std::size_t first, std::size_t starts, std::size_t end,
                          std::uint32_t most_steps_each, std::uint32_t options) {
  pcre2_match_context* context = state_->context.get();
  pcre2_set_offset_limit(context, std::min(end, first + starts));
  pcre2_set_match_limit(context, most_steps_each);
  const Code& code = *regex_->code_;
  const pcre2_code* used = (options & PCRE2_NO_JIT) != 0 ? code.slow.get() : code.quick.get();
  return pcre2_match(used, reinterpret_cast<PCRE2_SPTR>(text_.data()), end, first,
                     options | PCRE2_NO_UTF_CHECK, state_->data.get(), context);
}

int Regex::Matches::match_quickly(std::size_t first, std::size_t starts) {
  checkpoint(32768);
  const std::size_t end =
      std::min(text_.size(), character_from(text_, first + starts + window_bytes));
  const auto steps = static_cast<std::uint32_t>(most_quick_steps * few_starts / starts);
  return match(first, starts, end, steps, end < text_.size() ? PCRE2_PARTIAL_HARD : 0);
}

int Regex::Matches::match_slowly(std::size_t first) {
  checkpoint(std::int64_t{1} << 20);
  std::exception_ptr thrown;
  pcre2_set_callout(state_->context.get(), look_at_clock, &thrown);
  const int result = match(first, 0, text_.size(), most_steps, PCRE2_NO_JIT);
  pcre2_set_callout(state_->context.get(), nullptr, nullptr);
  if (thrown) std::rethrow_exception(thrown);
  if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
  if (result >= 0 || result == PCRE2_ERROR_NOMATCH) return result;
  fail(ErrorCode::limit, "the regular expression ", quoted(regex_->shown_), " takes more than ",
       most_steps, " steps at byte ", first);
}

std::optional<RegexMatch> Regex::Matches::search() {
  const std::size_t* place = pcre2_get_ovector_pointer(state_->data.get());
  std::size_t starts = few_starts;
  for (std::size_t first = from_; first <= text_.size();) {
    int result = match_quickly(first, starts);
    if (result == PCRE2_ERROR_PARTIAL && place[0] > first) {
      first = place[0];
      continue;
    }
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
      starts = starts > few_starts ? few_starts : 0;
      if (starts > 0) continue;
      result = match_slowly(first);
    }
    if (result >= 0) return RegexMatch{place[0], place[1]};
    first = character_from(text_, first + starts + 1);
    starts = std::min(std::max(few_starts, 2 * starts), many_starts);
  }
  return {};
}

#else

void require_regex() {
  fail(ErrorCode::unsupported,
       "this build reads no tokenizer.json, since it lacks the library PCRE2");
}

struct Regex::Code {};
struct Regex::Matches::State {};

void Regex::compile(std::string_view) { require_regex(); }
Regex::Matches::Matches(const Regex& regex, std::string_view text) : regex_(&regex), text_(text) {}
std::optional<RegexMatch> Regex::Matches::search() { return {}; }

#endif

Regex::Regex(std::string_view pattern) : shown_(pattern) {
  with_context([&] { compile(pattern); },
               [&] { return cat("regular expression ", quoted(shown_)); });
}

Regex Regex::literal(std::string_view text) {
  constexpr std::size_t most_bytes = 256;
  if (text.empty()) return Regex(text);
  if (text.size() > most_bytes) {
    fail(ErrorCode::limit, "a text to look for has ", text.size(), " bytes, more than ",
         most_bytes);
  }
  Regex regex;
  regex.literal_ = text;
  return regex;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::Matches::~Matches() = default;

std::optional<RegexMatch> Regex::Matches::next() {
  if (!regex_->code_) {
    if (regex_->literal_.empty()) return {};
    checkpoint(64);
    const std::size_t found = text_.find(regex_->literal_, from_);
    if (found == std::string_view::npos) return {};
    from_ = found + regex_->literal_.size();
    return RegexMatch{found, from_};
  }
  while (from_ <= text_.size()) {
    const std::optional<RegexMatch> match = search();
    if (!match) break;
    if (match->begin == match->end && last_end_ == match->end) {
      from_ += from_ < text_.size() ? decode_utf8(text_.substr(from_)).bytes : 1;
      continue;
    }
    from_ = match->end;
    last_end_ = match->end;
    return match;
  }
  from_ = text_.size() + 1;
  return {};
}

}  // namespace ondine::text::tokenizer
