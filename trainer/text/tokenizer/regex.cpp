#include "trainer/text/tokenizer/regex.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "core/utf8.h"

#ifdef ONDINE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

namespace ondine::text::tokenizer {

#ifdef ONDINE_PCRE2

namespace {

constexpr std::size_t most_pattern_bytes = 65536;
constexpr std::uint32_t most_steps = 1'000'000;
constexpr std::uint32_t most_heap_kib = 65536;
// First characters of a match that are tried between two looks at the clock, with so many steps
// for all of them; more characters with fewer steps for each where that suffices.
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

Owned<pcre2_code> try_compile(const std::string& pattern, int& error, std::size_t& offset) {
  return Owned<pcre2_code>(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK | PCRE2_USE_OFFSET_LIMIT |
          PCRE2_NO_START_OPTIMIZE,  // which looks at the whole text for every few first characters
      &error, &offset, nullptr));
}

bool is_script(const std::string& name) {
  int error = 0;
  std::size_t offset = 0;
  return try_compile("\\p{sc:" + name + "}", error, offset) != nullptr;
}

}  // namespace

void require_regex() {}

struct Regex::Code {
  Owned<pcre2_code> code;
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
  code_->code = try_compile(pcre_pattern(pattern, is_script), error, offset);
  if (code_->code == nullptr) {
    PCRE2_UCHAR text[200] = {};
    pcre2_get_error_message(error, text, std::size(text));
    fail(ErrorCode::corrupt, reinterpret_cast<const char*>(text));
  }
  // Without it, matching is slower.
  pcre2_jit_compile(code_->code.get(), PCRE2_JIT_COMPLETE);
}

Regex::Matches::Matches(const Regex& regex, std::string_view text) : regex_(&regex), text_(text) {
  if (!regex.code_) return;
  state_ = std::make_unique<State>();
  state_->data = owned(pcre2_match_data_create(1, nullptr));
  state_->context = owned(pcre2_match_context_create(nullptr));
  pcre2_set_heap_limit(state_->context.get(), most_heap_kib);
}

int Regex::Matches::try_from(std::size_t first, std::size_t starts) {
  checkpoint(static_cast<std::int64_t>(starts));
  pcre2_match_context* context = state_->context.get();
  pcre2_set_offset_limit(context, std::min(text_.size(), first + starts));
  pcre2_set_match_limit(context, static_cast<std::uint32_t>(most_steps * few_starts / starts));
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(regex_->code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()),
                       text_.size(), first, options | PCRE2_NO_UTF_CHECK, state_->data.get(),
                       context);
  };
  const int result = match(0);
  return result == PCRE2_ERROR_JIT_STACKLIMIT ? match(PCRE2_NO_JIT) : result;
}

std::optional<RegexMatch> Regex::Matches::search() {
  std::size_t starts = few_starts;
  for (std::size_t first = from_; first <= text_.size();) {
    int result = try_from(first, starts);
    if (result == PCRE2_ERROR_MATCHLIMIT && starts > few_starts) {
      starts = few_starts;
      result = try_from(first, starts);
    }
    if (result >= 0) {
      const std::size_t* place = pcre2_get_ovector_pointer(state_->data.get());
      return RegexMatch{place[0], place[1]};
    }
    if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    if (result != PCRE2_ERROR_NOMATCH) {
      fail(ErrorCode::limit, "the regular expression ", quoted(regex_->shown_), " takes more than ",
           most_steps, " steps at byte ", first);
    }
    first += starts + 1;
    while (first < text_.size() && (static_cast<unsigned char>(text_[first]) & 0xc0U) == 0x80) {
      ++first;  // to the next character
    }
    starts = std::min(2 * starts, many_starts);
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
