#include "trainer/text/chat/parser.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/text/chat/expression_parser.h"

namespace ondine::text::chat {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr int most_levels = 64;

class Parser {
 public:
  explicit Parser(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  Block parse() {
    std::string end;
    Block block = read_block({}, end, 1);
    return block;
  }

 private:
  // Up to a block that begins with one of the words, which becomes `end`; the rest of that block is
  // left in tag_. To the last piece where there are none.
  Block read_block(std::vector<std::string_view> words, std::string& end, int line) {
    if (++level_ > most_levels) {
      fail(ErrorCode::limit, "line ", line, ": blocks are nested more than ", most_levels, " deep");
    }
    Block block;
    while (at_ < pieces_.size()) {
      const Piece& piece = pieces_[at_++];
      if (piece.kind == Piece::Kind::text) {
        block.push_back({Statement::Kind::text, piece.line, piece.text, {}, {}});
        continue;
      }
      tag_ = std::make_unique<ExpressionParser>(tokens_of(piece));
      if (piece.kind == Piece::Kind::output) {
        block.push_back({Statement::Kind::output, piece.line, {}, {}, {}});
        block.back().value = tag_->read();
        tag_->expect_end();
        continue;
      }
      const std::string word = tag_->expect_name("the name of a block");
      if (std::find(words.begin(), words.end(), word) != words.end()) {
        end = word;
        --level_;
        return block;
      }
      block.push_back(read_statement(word, piece.line));
    }
    if (!words.empty()) {
      fail(ErrorCode::corrupt, "line ", line, ": the block has no ", quoted(words.back()));
    }
    --level_;
    return block;
  }

  Statement read_statement(const std::string& word, int line) {
    if (word == "if") return read_when(line);
    if (word == "for") return read_loop(line);
    if (word == "set") return read_set(line);
    for (const std::string_view stray : {"endif", "endfor", "else", "elif"}) {
      if (word == stray) fail(ErrorCode::corrupt, "line ", line, ": a stray ", quoted(word));
    }
    fail(ErrorCode::unsupported, "line ", line, ": the block ", quoted(word),
         "; known are if, for and set");
  }

  Statement read_when(int line) {
    Statement when{Statement::Kind::when, line, {}, {}, {}};
    when.value = tag_->read();
    tag_->expect_end();
    std::string end;
    when.body = read_block({"elif", "else", "endif"}, end, line);
    if (end == "elif") {
      if (++level_ > most_levels) {
        fail(ErrorCode::limit, "line ", line, ": more than ", most_levels, " blocks elif");
      }
      when.otherwise.push_back(read_when(tag_->line()));
      --level_;
      return when;
    }
    tag_->expect_end();
    if (end == "else") {
      when.otherwise = read_block({"endif"}, end, line);
      tag_->expect_end();
    }
    return when;
  }

  Statement read_loop(int line) {
    Statement loop{Statement::Kind::loop, line, {}, {}, {}};
    do {
      loop.names.push_back(tag_->expect_name("the name of an item"));
    } while (tag_->accept(","));
    tag_->expect("in");
    loop.value = tag_->read_without_choice();
    if (tag_->accept("if")) loop.filter = tag_->read();
    if (tag_->accept("recursive")) {
      fail(ErrorCode::unsupported, "line ", line, ": a recursive loop");
    }
    tag_->expect_end();
    std::string end;
    loop.body = read_block({"else", "endfor"}, end, line);
    tag_->expect_end();
    if (end == "else") {
      loop.otherwise = read_block({"endfor"}, end, line);
      tag_->expect_end();
    }
    return loop;
  }

  Statement read_set(int line) {
    Statement set{Statement::Kind::set, line, {}, {}, {}};
    set.names.push_back(tag_->expect_name("the name of a variable"));
    if (tag_->accept(".")) set.attribute = tag_->expect_name("the name of a member");
    if (tag_->is_at_end()) {
      fail(ErrorCode::unsupported, "line ", line, ": a block 'set' without '='");
    }
    tag_->expect("=");
    set.value = tag_->read();
    tag_->expect_end();
    return set;
  }

  std::vector<Piece> pieces_;
  std::size_t at_ = 0;
  int level_ = 0;
  std::unique_ptr<ExpressionParser> tag_;
};

}  // namespace

Block parse_template(std::string_view text) {
  if (text.size() > most_bytes) {
    fail(ErrorCode::limit, "the template has ", text.size(), " bytes, more than ", most_bytes);
  }
  return Parser(split_template(text)).parse();
}

}  // namespace ondine::text::chat
