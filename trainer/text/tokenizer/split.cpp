#include "trainer/text/tokenizer/split.h"

#include <array>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"
#include "trainer/text/tokenizer/behavior.h"
#include "trainer/text/tokenizer/regex.h"
#include "trainer/text/tokenizer/unicode.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t most_steps = 32;

template <class IsMatch>
void split_characters(std::string_view text, Splitter& splitter, const IsMatch& is_match) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text.substr(at));
    if (is_match(c.value)) {
      if (begin < at) splitter.add(begin, at, false);
      splitter.add(at, at + c.bytes, true);
      begin = at + c.bytes;
    }
    at += c.bytes;
  }
  if (begin < text.size()) splitter.add(begin, text.size(), false);
  splitter.finish();
}

void split_matches(std::string_view text, Splitter& splitter, const Regex& regex, bool invert) {
  Regex::Matches matches(regex, text);
  std::size_t begin = 0;
  while (const auto match = matches.next()) {
    if (begin < match->begin) splitter.add(begin, match->begin, invert);
    splitter.add(match->begin, match->end, !invert);
    begin = match->end;
  }
  if (begin < text.size()) splitter.add(begin, text.size(), invert);
  splitter.finish();
}

// At each character that a function tells.
class Characters final : public PreTokenizer {
 public:
  using IsMatch = bool (*)(char32_t) noexcept;
  Characters(IsMatch is_match, Behavior behavior) : is_match_(is_match), behavior_(behavior) {}

  void run(std::string_view word, bool is_first, WordSink& to) const override {
    Splitter splitter(word, is_first, behavior_, to);
    split_characters(word, splitter, is_match_);
  }

 private:
  IsMatch is_match_;
  Behavior behavior_;
};

class Delimiter final : public PreTokenizer {
 public:
  explicit Delimiter(char32_t delimiter) : delimiter_(delimiter) {}

  void run(std::string_view word, bool is_first, WordSink& to) const override {
    Splitter splitter(word, is_first, Behavior::removed, to);
    split_characters(word, splitter, [&](char32_t c) { return c == delimiter_; });
  }

 private:
  char32_t delimiter_;
};

// Runs of the characters of words, and runs of others that are no spaces.
class Whitespace final : public PreTokenizer {
 public:
  void run(std::string_view word, bool is_first, WordSink& to) const override {
    const auto kind_of = [](char32_t c) { return is_word(c) ? 2 : is_space(c) ? 0 : 1; };
    std::size_t begin = 0;
    int kind = 0;
    const auto give = [&](std::size_t end) {
      if (kind != 0) to.take(word.substr(begin, end - begin), is_first && begin == 0);
    };
    for (std::size_t at = 0; at < word.size();) {
      const CodePoint c = decode_utf8(word.substr(at));
      const int next = kind_of(c.value);
      if (next != kind) {
        give(at);
        begin = at;
        kind = next;
      }
      at += c.bytes;
    }
    give(word.size());
  }
};

class Split final : public PreTokenizer {
 public:
  Split(Regex regex, Behavior behavior, bool invert)
      : regex_(std::move(regex)), behavior_(behavior), invert_(invert) {}

  void run(std::string_view word, bool is_first, WordSink& to) const override {
    Splitter splitter(word, is_first, behavior_, to);
    split_matches(word, splitter, regex_, invert_);
  }

 private:
  Regex regex_;
  Behavior behavior_;
  bool invert_;
};

class Metaspace final : public PreTokenizer {
 public:
  enum class Prepend { always, first, never };

  explicit Metaspace(const JsonView& json) {
    json.allow_only({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
    symbol_ = json.at("replacement").text();
    if (symbol_.empty() || decode_utf8(symbol_).bytes != symbol_.size()) {
      fail(ErrorCode::corrupt, quoted(json.path() + ".replacement"), " is no single character");
    }
    code_ = decode_utf8(symbol_).value;
    const std::string_view scheme = json.text_or("prepend_scheme", "always");
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      fail(ErrorCode::unsupported, quoted(json.path() + ".prepend_scheme"), " ", quoted(scheme),
           " is not known");
    }
    prepend_ = scheme == "always"  ? Prepend::always
               : scheme == "first" ? Prepend::first
                                   : Prepend::never;
    if (!json.flag_or("add_prefix_space", true)) prepend_ = Prepend::never;
    splits_ = json.flag_or("split", true);
  }

  void run(std::string_view word, bool is_first, WordSink& to) const override {
    std::string text;
    const bool begins = word.starts_with(symbol_) || word[0] == ' ';
    if (!begins && (prepend_ == Prepend::always || (prepend_ == Prepend::first && is_first))) {
      text += symbol_;
    }
    for (const char c : word) {
      if (c == ' ') {
        text += symbol_;
      } else {
        text += c;
      }
    }
    if (!splits_) return to.take(text, is_first);
    Splitter splitter(text, is_first, Behavior::merged_with_next, to);
    split_characters(text, splitter, [&](char32_t c) { return c == code_; });
  }

 private:
  std::string symbol_;
  char32_t code_;
  Prepend prepend_;
  bool splits_;
};

class ByteLevel final : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonView& json) {
    json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});
    add_space_ = json.flag_or("add_prefix_space", true);
    if (!json.flag_or("use_regex", true)) return;
    regex_.emplace(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  }

  void run(std::string_view word, bool is_first, WordSink& to) const override {
    std::string spaced;
    if (add_space_ && word[0] != ' ') {
      spaced.reserve(word.size() + 1);
      spaced += ' ';
      spaced += word;
      word = spaced;
    }
    Mapping mapping(to);
    if (!regex_) return mapping.take(word, is_first);
    Splitter splitter(word, is_first, Behavior::isolated, mapping);
    split_matches(word, splitter, *regex_, false);
  }

 private:
  class Mapping final : public WordSink {
   public:
    explicit Mapping(WordSink& to) : to_(&to) {}
    void take(std::string_view word, bool is_first) override {
      text_.clear();
      append_byte_characters(text_, word);
      to_->take(text_, is_first);
    }

   private:
    WordSink* to_;
    std::string text_;
  };

  bool add_space_;
  std::optional<Regex> regex_;
};

bool is_delimiter_of_bert(char32_t c) noexcept { return is_punctuation(c); }

Regex read_pattern(const JsonView& json) {
  json.allow_only({"String", "Regex"});
  if (json.has("String")) return Regex::literal(json.at("String").text());
  return Regex(json.at("Regex").text());
}

template <class Step, class... Arguments>
void add(PreTokenizers& steps, Arguments&&... arguments) {
  steps.push_back(std::make_unique<Step>(std::forward<Arguments>(arguments)...));
}

void read_split(const JsonView& json, PreTokenizers& steps) {
  json.allow_only({"pattern", "behavior", "invert"});
  add<Split>(steps, read_pattern(json.at("pattern")), read_behavior(json.at("behavior")),
             json.flag_or("invert", false));
}

void read_simple(const JsonView& json, PreTokenizers& steps) {
  const std::string_view type = json.type();
  if (type == "Whitespace") {
    json.allow_only({});
    add<Whitespace>(steps);
  } else if (type == "WhitespaceSplit") {
    json.allow_only({});
    add<Characters>(steps, is_space, Behavior::removed);
  } else if (type == "BertPreTokenizer") {
    json.allow_only({});
    add<Characters>(steps, is_space, Behavior::removed);
    add<Characters>(steps, is_delimiter_of_bert, Behavior::isolated);
  } else if (type == "Digits") {
    json.allow_only({"individual_digits"});
    const bool apart = json.flag_or("individual_digits", false);
    add<Characters>(steps, is_number, apart ? Behavior::isolated : Behavior::contiguous);
  } else if (type == "Punctuation") {
    json.allow_only({"behavior"});
    const bool says = json.has("behavior");
    add<Characters>(steps, is_punctuation,
                    says ? read_behavior(json.at("behavior")) : Behavior::isolated);
  } else if (type == "CharDelimiterSplit") {
    json.allow_only({"delimiter"});
    const std::string_view text = json.at("delimiter").text();
    if (text.empty()) fail(ErrorCode::corrupt, quoted(json.path() + ".delimiter"), " is empty");
    add<Delimiter>(steps, decode_utf8(text).value);
  } else {
    fail(ErrorCode::unsupported, quoted(json.path()), " is of type ", quoted(type),
         ", which is not supported");
  }
}

}  // namespace

void read_pre_tokenizer(const JsonView& json, PreTokenizers& steps) {
  const std::string_view type = json.type();
  if (type == "Sequence") {
    json.allow_only({"pretokenizers"});
    json.at("pretokenizers").each_item([&](const JsonView& one) {
      read_pre_tokenizer(one, steps);
    });
  } else if (type == "ByteLevel") {
    add<ByteLevel>(steps, json);
  } else if (type == "Metaspace") {
    add<Metaspace>(steps, json);
  } else if (type == "Split") {
    with_context([&] { read_split(json, steps); }, [&] { return quoted(json.path()); });
  } else {
    read_simple(json, steps);
  }
  if (steps.size() > most_steps) {
    fail(ErrorCode::limit, quoted(json.path()), " has more than ", most_steps, " steps");
  }
}

namespace {

// A step, whose words go to the next one.
class Chain final : public WordSink {
 public:
  Chain(const PreTokenizers& steps, std::size_t step, WordSink& to)
      : steps_(&steps), step_(step), to_(&to) {}
  void take(std::string_view word, bool is_first) override {
    checkpoint(static_cast<std::int64_t>(word.size()) + 16);
    if (step_ == steps_->size()) return to_->take(word, is_first);
    Chain next(*steps_, step_ + 1, *to_);
    (*steps_)[step_]->run(word, is_first, next);
  }

 private:
  const PreTokenizers* steps_;
  std::size_t step_;
  WordSink* to_;
};

}  // namespace

void pre_tokenize(const PreTokenizers& steps, std::string_view text, bool is_first, WordSink& to) {
  if (!text.empty()) Chain(steps, 0, to).take(text, is_first);
}

}  // namespace ondine::text::tokenizer
