#include "trainer/text/chat/lexer.h"

#include <algorithm>

#include "core/message.h"
#include "core/text/letters.h"

namespace ondine::text::chat {
namespace {

constexpr std::string_view space = " \t\n\r\v\f";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_start(char c) {
  const char lower = lower_letter(c);
  return (lower >= 'a' && lower <= 'z') || c == '_';
}

// The position after the tag's content: of its closing sign, which strings may hold.
std::size_t find_close(std::string_view text, std::size_t at, std::string_view close) {
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != '\0') {
      if (c == '\\') {
        ++at;
      } else if (c == quote) {
        quote = '\0';
      }
    } else if (text.substr(at).starts_with(close)) {
      return at;
    } else if (close != "#}" && (c == '"' || c == '\'')) {
      quote = c;
    }
  }
  return std::string_view::npos;
}

void strip_end(std::string& text, std::string_view what) {
  const std::size_t last = text.find_last_not_of(what);
  text.resize(last == std::string::npos ? 0 : last + 1);
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {
    if (text_.ends_with('\n')) text_.remove_suffix(1);
  }

  std::vector<Piece> split() {
    while (at_ < text_.size()) {
      const std::size_t tag = next_tag();
      add_text(tag);
      if (tag < text_.size()) add_tag(tag);
    }
    return std::move(pieces_);
  }

 private:
  std::size_t next_tag() const {
    for (std::size_t at = at_; (at = text_.find('{', at)) != std::string_view::npos; ++at) {
      if (at + 1 < text_.size() && std::string_view("{%#").find(text_[at + 1]) != std::string::npos)
        return at;
    }
    return text_.size();
  }

  void add_text(std::size_t end) {
    Piece piece{Piece::Kind::text, std::string(text_.substr(at_, end - at_)), line_};
    line_ += static_cast<int>(std::count(piece.text.begin(), piece.text.end(), '\n'));
    if (strips_next_) {
      piece.text.erase(0, std::min(piece.text.find_first_not_of(space), piece.text.size()));
    } else if (trims_next_ && piece.text.starts_with('\n')) {
      piece.text.erase(0, 1);
    }
    const bool follows_line_start = at_ == 0 || text_[at_ - 1] == '\n' ||
                                    text_.substr(at_, end - at_).find('\n') != std::string::npos;
    if (end < text_.size()) trim_before(piece.text, end, follows_line_start);
    at_ = end;
    if (!piece.text.empty()) pieces_.push_back(std::move(piece));
  }

  // Removes the space that a tag takes off the text before it.
  void trim_before(std::string& text, std::size_t tag, bool has_line_start) const {
    const char sign = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
    if (sign == '-') return strip_end(text, space);
    if (text_[tag + 1] == '{' || sign == '+' || !has_line_start) return;
    const std::size_t last = text.find_last_not_of(" \t\v\f");
    if (last == std::string::npos || text[last] == '\n') strip_end(text, " \t\v\f");
  }

  void add_tag(std::size_t tag) {
    const char sign = text_[tag + 1];
    const std::string_view close = sign == '{' ? "}}" : sign == '%' ? "%}" : "#}";
    at_ = tag + 2;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    const std::size_t end = find_close(text_, at_, close);
    if (end == std::string_view::npos) {
      fail(ErrorCode::corrupt, "line ", line_, ": ", quoted(text_.substr(tag, 2)), " has no ",
           quoted(close));
    }
    Piece piece{sign == '{' ? Piece::Kind::output : Piece::Kind::block,
                std::string(text_.substr(at_, end - at_)), line_};
    line_ += static_cast<int>(std::count(piece.text.begin(), piece.text.end(), '\n'));
    strips_next_ = piece.text.ends_with('-');
    const bool keeps_next = piece.text.ends_with('+');
    if (strips_next_ || keeps_next) piece.text.pop_back();
    trims_next_ = sign != '{' && !keeps_next;
    at_ = end + 2;
    if (sign != '#') pieces_.push_back(std::move(piece));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool strips_next_ = false;
  bool trims_next_ = false;
  std::vector<Piece> pieces_;
};

class Tokenizer {
 public:
  explicit Tokenizer(const Piece& tag) : text_(tag.text), line_(tag.line) {}

  std::vector<Token> read() {
    std::vector<Token> tokens;
    while (true) {
      skip_space();
      tokens.push_back(next());
      if (tokens.back().kind == Token::Kind::end) return tokens;
    }
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && space.find(text_[at_]) != std::string_view::npos) {
      if (text_[at_++] == '\n') ++line_;
    }
  }
  template <class Is>
  std::string take_while(const Is& is) {
    const std::size_t first = at_;
    while (at_ < text_.size() && is(text_[at_])) ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  Token next() {
    if (at_ == text_.size()) return {Token::Kind::end, "", line_};
    const char c = text_[at_];
    if (is_name_start(c)) {
      return {Token::Kind::name,
              take_while([](char one) { return is_name_start(one) || is_digit(one); }), line_};
    }
    if (is_digit(c)) return number();
    if (c == '"' || c == '\'') return text(c);
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "//"}) {
      if (text_.substr(at_).starts_with(sign)) {
        at_ += 2;
        return {Token::Kind::sign, std::string(sign), line_};
      }
    }
    if (std::string_view("+-*/%~|.,:()[]{}<>=").find(c) == std::string_view::npos) {
      fail(ErrorCode::unsupported, "line ", line_, ": ", quoted(std::string(1, c)), " in a tag");
    }
    ++at_;
    return {Token::Kind::sign, std::string(1, c), line_};
  }

  Token number() {
    std::string digits = take_while(is_digit);
    const bool has_fraction =
        at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1]);
    if (has_fraction) {
      ++at_;
      digits += "." + take_while(is_digit);
    }
    if (digits.size() > 18) fail(ErrorCode::unsupported, "line ", line_, ": the number ", digits);
    return {has_fraction ? Token::Kind::number : Token::Kind::integer, std::move(digits), line_};
  }

  Token text(char quote) {
    Token token{Token::Kind::text, "", line_};
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        return token;
      }
      if (c == '\n') ++line_;
      if (c == '\\') {
        ++at_;
        token.text += escaped();
      } else {
        token.text += c;
      }
    }
    fail(ErrorCode::corrupt, "line ", token.line, ": a text has no end");
  }

  char escaped() const {
    constexpr std::string_view codes = "nrt\\'\"";
    constexpr std::string_view characters = "\n\r\t\\'\"";
    const std::size_t found = at_ < text_.size() ? codes.find(text_[at_]) : std::string_view::npos;
    if (found != std::string_view::npos) return characters[found];
    fail(ErrorCode::unsupported, "line ", line_, ": the escape '", text_.substr(at_ - 1, 2),
         "' in a text");
  }

  std::string_view text_;
  int line_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Piece> split_template(std::string_view text) { return Splitter(text).split(); }

std::vector<Token> tokens_of(const Piece& tag) { return Tokenizer(tag).read(); }

}  // namespace ondine::text::chat
