// A chat template as text and tags, and the words of tags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ondine::text::chat {

// Text between tags, or what stands in a tag.
struct Piece {
  enum class Kind : std::uint8_t { text, output, block };
  Kind kind = Kind::text;
  std::string text;
  int line = 1;  // that it begins on
};

// As Jinja with trim_blocks and lstrip_blocks: the line end after a block and the spaces before it
// on its line are no text, nor is white space beside a tag with "-" on that side, nor the last line
// end. Error(corrupt) naming the line of a tag without an end.
std::vector<Piece> split_template(std::string_view text);

struct Token {
  enum class Kind : std::uint8_t { name, text, integer, number, sign, end };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
};

// The words of a tag, and one of Kind::end. Error(corrupt) or Error(unsupported) naming the line.
std::vector<Token> tokens_of(const Piece& tag);

}  // namespace ondine::text::chat
