// Precompiled: the rules of a SentencePiece model, which the `tokenizers` package applies in a way
// of its own: to a grapheme cluster of less than six bytes as a whole, else to each character, and
// the rule with the shortest key holds, even where the rest of the cluster goes with it.
#include <array>

#include "core/message.h"
#include "core/text/base64.h"
#include "trainer/text/pieces/charsmap.h"
#include "trainer/text/tokenizer/normalize_kinds.h"
#include "trainer/text/tokenizer/unicode.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t least_long_cluster = 6;

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(const std::string& rules) : charsmap_(rules) {
    for (std::size_t i = 1; i < plain_.size(); ++i) {
      const char c = static_cast<char>(i);
      plain_[i] = c != '\r' && charsmap_.shortest_match({&c, 1}).length == 0;
    }
  }

  void run(NormalText& text) const override {
    std::string result;
    result.reserve(text.text.size());
    for (std::string_view rest = text.text; !rest.empty();) {
      checkpoint(16);
      const std::size_t bytes = is_plain(rest) ? 1 : grapheme_bytes(rest);
      const std::string_view cluster = rest.substr(0, bytes);
      if (bytes == 1 && is_plain(rest)) {
        result += cluster;
      } else {
        append(result, cluster);
      }
      if (result.empty()) text.has_first = false;
      rest.remove_prefix(bytes);
    }
    text.text = std::move(result);
  }

 private:
  // Whether the first character stays and is a cluster by itself.
  bool is_plain(std::string_view text) const {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    return byte(0) < plain_.size() && plain_[byte(0)] && (text.size() == 1 || byte(1) < 0x80);
  }

  void append(std::string& to, std::string_view cluster) const {
    if (cluster.size() < least_long_cluster) {
      const Charsmap::Match match = charsmap_.shortest_match(cluster);
      if (match.length != 0) {
        to += match.replacement;
        return;
      }
    }
    each_character(cluster, [&](char32_t, std::string_view bytes) {
      const Charsmap::Match match = charsmap_.shortest_match(bytes);
      to += match.length != 0 ? match.replacement : bytes;
    });
  }

  Charsmap charsmap_;
  std::array<bool, 128> plain_{};
};

}  // namespace

std::unique_ptr<const Normalizer> make_precompiled(const JsonView& json) {
  json.allow_only({"precompiled_charsmap"});
  const JsonView field = json.at("precompiled_charsmap");
  return with_context(
      [&] { return std::make_unique<Precompiled>(from_base64(std::string(field.text()))); },
      [&] { return quoted(json.path()); });
}

}  // namespace ondine::text::tokenizer
