// BertNormalizer.
#include "trainer/text/tokenizer/normalize_kinds.h"
#include "trainer/text/tokenizer/unicode.h"

namespace ondine::text::tokenizer {
namespace {

// In the blocks of ideographs.
bool is_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonView& json)
      : clean_(json.flag_or("clean_text", true)),
        ideographs_(json.flag_or("handle_chinese_chars", true)),
        lowercase_(json.flag_or("lowercase", true)),
        strip_(json.flag_or("strip_accents", lowercase_)) {
    json.allow_only({"clean_text", "handle_chinese_chars", "lowercase", "strip_accents"});
  }

  void run(NormalText& text) const override {
    if (clean_) {
      filter(text, [](char32_t c) {
        if (c == '\t' || c == '\n' || c == '\r') return true;
        return c != 0 && c != 0xfffd && !is_control(c);
      });
    }
    if (clean_ || ideographs_) text.text = spaced(text.text);
    if (strip_) {
      text.text = normal_form(text.text, NormalForm::nfd);
      filter(text, [](char32_t c) { return !is_nonspacing_mark(c); });
    }
    if (lowercase_) text.text = tokenizer::lowercase(text.text);
  }

 private:
  // Every space is a plain one, and ideographs have one on both sides.
  std::string spaced(std::string_view text) const {
    std::string result;
    result.reserve(text.size());
    each_character(text, [&](char32_t c, std::string_view bytes) {
      if (clean_ && is_space(c)) {
        result += ' ';
      } else if (ideographs_ && is_ideograph(c)) {
        result += ' ';
        result += bytes;
        result += ' ';
      } else {
        result += bytes;
      }
    });
    return result;
  }

  bool clean_;
  bool ideographs_;
  bool lowercase_;
  bool strip_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_bert_normalizer(const JsonView& json) {
  return std::make_unique<BertNormalizer>(json);
}

}  // namespace ondine::text::tokenizer
