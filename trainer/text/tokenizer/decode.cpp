#include "trainer/text/tokenizer/decode.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"
#include "trainer/text/lossy_utf8.h"
#include "trainer/text/tokenizer/regex.h"
#include "trainer/text/tokenizer/split.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t most_decode_steps = 32;
constexpr std::size_t most_decode_content = 1024;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  while (true) {
    const std::size_t at = from.empty() ? std::string_view::npos : text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(at + from.size());
  }
}

class ByteLevelDecoder final : public Decoder {
 public:
  void run(Tokens& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      const std::size_t before = bytes.size();
      for (std::string_view rest = token; !rest.empty();) {
        const CodePoint c = decode_utf8(rest);
        const int byte = byte_of_character(c.value);
        if (byte < 0) {
          // A token of other characters stands for itself.
          bytes.resize(before);
          bytes += token;
          break;
        }
        bytes += static_cast<char>(byte);
        rest.remove_prefix(c.bytes);
      }
    }
    tokens = {lossy_utf8(bytes)};
  }
};

class WordPiece final : public Decoder {
 public:
  explicit WordPiece(const JsonView& json)
      : prefix_(json.text_or("prefix", "##")), cleans_(json.flag_or("cleanup", true)) {
    json.allow_only({"prefix", "cleanup"});
  }
  void run(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      checkpoint(256);
      std::string& token = tokens[i];
      if (i > 0 && token.starts_with(prefix_)) {
        token.erase(0, prefix_.size());
      } else if (i > 0) {
        token.insert(0, " ");
      }
      if (cleans_) clean(token);
    }
  }

 private:
  static void clean(std::string& token) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> rules{{
        {" .", "."},
        {" ?", "?"},
        {" !", "!"},
        {" ,", ","},
        {" ' ", "'"},
        {" n't", "n't"},
        {" 'm", "'m"},
        {" do not", " don't"},
        {" 's", "'s"},
        {" 've", "'ve"},
        {" 're", "'re"},
    }};
    for (const auto& [from, to] : rules) {
      if (token.find(from) != std::string::npos) token = replaced(token, from, to);
    }
  }

  std::string prefix_;
  bool cleans_;
};

class Metaspace final : public Decoder {
 public:
  explicit Metaspace(const JsonView& json)
      : symbol_(json.at("replacement").text()),
        drops_first_(json.text_or("prepend_scheme", "always") != "never" &&
                     json.flag_or("add_prefix_space", true)) {
    json.allow_only({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
    if (symbol_.empty() || decode_utf8(symbol_).bytes != symbol_.size()) {
      fail(ErrorCode::corrupt, quoted(json.path() + ".replacement"), " is no single character");
    }
  }
  void run(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replaced(tokens[i], symbol_, i == 0 && drops_first_ ? "" : " ");
    }
  }

 private:
  std::string symbol_;
  bool drops_first_;
};

class ByteFallback final : public Decoder {
 public:
  void run(Tokens& tokens) const override {
    Tokens result;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes)) {
        result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), std::string(replacement_character));
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      const int byte = byte_of(token);
      if (byte >= 0) {
        bytes += static_cast<char>(byte);
      } else {
        flush();
        result.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(result);
  }

 private:
  static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  }
  static int byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const int high = digit(token[3]);
    const int low = digit(token[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
  }
};

class Fuse final : public Decoder {
 public:
  void run(Tokens& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {std::move(all)};
  }
};

class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(const JsonView& json)
      : content_(json.at("content").text()),
        start_(json.at("start").integer(std::int64_t{1} << 40)),
        stop_(json.at("stop").integer(std::int64_t{1} << 40)) {
    json.allow_only({"content", "start", "stop"});
    if (content_.empty()) fail(ErrorCode::corrupt, quoted(json.path() + ".content"), " is empty");
  }
  void run(Tokens& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (auto i = start_; i > 0 && rest.starts_with(content_); --i) {
        rest.remove_prefix(content_.size());
      }
      for (auto i = stop_; i > 0 && rest.ends_with(content_); --i) {
        rest.remove_suffix(content_.size());
      }
      token = std::string(rest);
    }
  }

 private:
  std::string content_;
  std::int64_t start_;
  std::int64_t stop_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(Regex regex, std::string content)
      : regex_(std::move(regex)), content_(std::move(content)) {}
  void run(Tokens& tokens) const override {
    for (std::string& token : tokens) {
      std::string result;
      std::size_t begin = 0;
      Regex::Matches matches(regex_, token);
      while (const auto match = matches.next()) {
        result.append(token, begin, match->begin - begin);
        result += content_;
        begin = match->end;
      }
      result.append(token, begin);
      token = std::move(result);
    }
  }

 private:
  Regex regex_;
  std::string content_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const JsonView& json) : suffix_(json.text_or("suffix", "</w>")) {
    json.allow_only({"suffix"});
  }
  void run(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replaced(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

std::unique_ptr<const Decoder> make_replace_decoder(const JsonView& json) {
  json.allow_only({"pattern", "content"});
  const JsonView pattern = json.at("pattern");
  pattern.allow_only({"String", "Regex"});
  std::string content(json.at("content").text());
  if (content.size() > most_decode_content) {
    fail(ErrorCode::limit, quoted(json.path()), " has more than ", most_decode_content, " bytes");
  }
  Regex regex = pattern.has("String") ? Regex::literal(pattern.at("String").text())
                                      : Regex(pattern.at("Regex").text());
  return std::make_unique<ReplaceDecoder>(std::move(regex), std::move(content));
}

std::unique_ptr<const Decoder> make_decoder(const JsonView& json) {
  const std::string_view type = json.type();
  if (type == "ByteLevel") {
    json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevelDecoder>();
  }
  if (type == "ByteFallback" || type == "Fuse") {
    json.allow_only({});
    if (type == "Fuse") return std::make_unique<Fuse>();
    return std::make_unique<ByteFallback>();
  }
  if (type == "WordPiece") return std::make_unique<WordPiece>(json);
  if (type == "Metaspace") return std::make_unique<Metaspace>(json);
  if (type == "Strip") return std::make_unique<StripDecoder>(json);
  if (type == "Replace") {
    return with_context([&] { return make_replace_decoder(json); },
                        [&] { return quoted(json.path()); });
  }
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(json);
  fail(ErrorCode::unsupported, quoted(json.path()), " is of type ", quoted(type),
       ", which is not supported");
}

}  // namespace

void read_decoder(const JsonView& json, Decoders& steps) {
  if (json.type() == "Sequence") {
    json.allow_only({"decoders"});
    json.at("decoders").each_item([&](const JsonView& one) { read_decoder(one, steps); });
  } else {
    steps.push_back(make_decoder(json));
  }
  if (steps.size() > most_decode_steps) {
    fail(ErrorCode::limit, quoted(json.path()), " has more than ", most_decode_steps, " steps");
  }
}

}  // namespace ondine::text::tokenizer
