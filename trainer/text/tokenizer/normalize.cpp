#include "trainer/text/tokenizer/normalize.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/text/tokenizer/normalize_kinds.h"
#include "trainer/text/tokenizer/regex.h"
#include "trainer/text/tokenizer/split.h"
#include "trainer/text/tokenizer/unicode.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t most_normalize_steps = 32;
constexpr std::size_t most_normalize_content = 1024;
// NFKC makes 33 bytes of 3.
constexpr std::size_t most_expansion = 32;
constexpr std::size_t least_bound = 65536;

class Form final : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void run(NormalText& text) const override { text.text = normal_form(text.text, form_); }

 private:
  NormalForm form_;
};

class Lowercase final : public Normalizer {
 public:
  void run(NormalText& text) const override { text.text = lowercase(text.text); }
};

class StripAccents final : public Normalizer {
 public:
  void run(NormalText& text) const override {
    filter(text, [](char32_t c) { return !is_mark(c); });
  }
};

class Nmt final : public Normalizer {
 public:
  void run(NormalText& text) const override {
    filter(text, [](char32_t c) {
      return !((c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f ||
               c == 0x8f || c == 0x9f);
    });
    std::string mapped;
    mapped.reserve(text.text.size());
    each_character(text.text, [&](char32_t c, std::string_view bytes) {
      const bool is_blank = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                            (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
                            c == 0x2581 || c == 0xfeff || c == 0xfffd;
      mapped += is_blank ? std::string_view(" ") : bytes;
    });
    text.text = std::move(mapped);
  }
};

class StripNormalizer final : public Normalizer {
 public:
  explicit StripNormalizer(const JsonView& json)
      : left_(json.flag_or("strip_left", true)), right_(json.flag_or("strip_right", true)) {
    json.allow_only({"strip_left", "strip_right"});
  }
  void run(NormalText& text) const override {
    std::size_t first = text.text.size();
    std::size_t last = 0;
    std::size_t at = 0;
    each_character(text.text, [&](char32_t c, std::string_view bytes) {
      const std::size_t begin = at;
      at += bytes.size();
      if (is_space(c)) return;
      first = std::min(first, begin);
      last = at;
    });
    if (right_) text.text.resize(last);
    if (!left_) return;
    first = std::min(first, text.text.size());
    if (first > 0) text.has_first = false;
    text.text.erase(0, first);
  }

 private:
  bool left_;
  bool right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const JsonView& json) : text_(json.at("prepend").text()) {
    json.allow_only({"prepend"});
    if (text_.size() > most_normalize_content) {
      fail(ErrorCode::limit, quoted(json.path()), " has more than ", most_normalize_content,
           " bytes");
    }
  }
  void run(NormalText& text) const override {
    if (!text.text.empty()) text.text.insert(0, text_);
  }

 private:
  std::string text_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  void run(NormalText& text) const override {
    std::string mapped;
    append_byte_characters(mapped, text.text);
    text.text = std::move(mapped);
  }
};

// Where a text grew above this, normalize() refuses it.
std::size_t bound_of(std::size_t bytes) { return most_expansion * bytes + least_bound; }

class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(Regex regex, std::string content)
      : regex_(std::move(regex)), content_(std::move(content)) {}
  void run(NormalText& text) const override {
    std::string result;
    std::size_t begin = 0;
    const std::size_t most = bound_of(text.text.size());
    Regex::Matches matches(regex_, text.text);
    while (const auto match = matches.next()) {
      if (match->begin == 0 && content_.empty() && match->end > 0) text.has_first = false;
      result.append(text.text, begin, match->begin - begin);
      result += content_;
      begin = match->end;
      if (result.size() > most) fail_growth();
    }
    if (begin == 0 && result.empty()) return;
    result.append(text.text, begin);
    text.text = std::move(result);
  }

  [[noreturn]] static void fail_growth() {
    fail(ErrorCode::limit, "the normalizers of the tokenizer.json make more than ", most_expansion,
         " bytes of each byte of the text");
  }

 private:
  Regex regex_;
  std::string content_;
};

std::unique_ptr<const Normalizer> make_replace_normalizer(const JsonView& json) {
  json.allow_only({"pattern", "content"});
  const JsonView pattern = json.at("pattern");
  pattern.allow_only({"String", "Regex"});
  std::string content(json.at("content").text());
  if (content.size() > most_normalize_content) {
    fail(ErrorCode::limit, quoted(json.path()), " has more than ", most_normalize_content,
         " bytes");
  }
  return with_context(
      [&] {
        return std::make_unique<ReplaceNormalizer>(pattern.has("String")
                                                       ? Regex::literal(pattern.at("String").text())
                                                       : Regex(pattern.at("Regex").text()),
                                                   std::move(content));
      },
      [&] { return quoted(json.path()); });
}

template <class Step, class... Arguments>
std::unique_ptr<const Normalizer> simple(const JsonView& json, Arguments... arguments) {
  json.allow_only({});
  return std::make_unique<Step>(arguments...);
}

std::unique_ptr<const Normalizer> make_normalizer(const JsonView& json) {
  const std::string_view type = json.type();
  if (type == "NFC") return simple<Form>(json, NormalForm::nfc);
  if (type == "NFD") return simple<Form>(json, NormalForm::nfd);
  if (type == "NFKC") return simple<Form>(json, NormalForm::nfkc);
  if (type == "NFKD") return simple<Form>(json, NormalForm::nfkd);
  if (type == "Lowercase") return simple<Lowercase>(json);
  if (type == "StripAccents") return simple<StripAccents>(json);
  if (type == "Nmt") return simple<Nmt>(json);
  if (type == "ByteLevel") return simple<ByteLevelNormalizer>(json);
  if (type == "Strip") return std::make_unique<StripNormalizer>(json);
  if (type == "Prepend") return std::make_unique<Prepend>(json);
  if (type == "Replace") return make_replace_normalizer(json);
  if (type == "BertNormalizer") return make_bert_normalizer(json);
  if (type == "Precompiled") return make_precompiled(json);
  fail(ErrorCode::unsupported, quoted(json.path()), " is of type ", quoted(type),
       ", which is not supported");
}

}  // namespace

void read_normalizer(const JsonView& json, Normalizers& steps) {
  if (json.type() == "Sequence") {
    json.allow_only({"normalizers"});
    json.at("normalizers").each_item([&](const JsonView& one) { read_normalizer(one, steps); });
  } else {
    steps.push_back(make_normalizer(json));
  }
  if (steps.size() > most_normalize_steps) {
    fail(ErrorCode::limit, quoted(json.path()), " has more than ", most_normalize_steps, " steps");
  }
}

void normalize(const Normalizers& steps, NormalText& text) {
  const std::size_t most = bound_of(text.text.size());
  for (const auto& step : steps) {
    step->run(text);
    if (text.text.size() > most) ReplaceNormalizer::fail_growth();
  }
}

}  // namespace ondine::text::tokenizer
