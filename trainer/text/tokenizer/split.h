// Texts cut into words: the pre-tokenizers of a tokenizer.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer/json_tree.h"

namespace ondine::text::tokenizer {

// Takes a word; `is_first` where it begins with the first character of the whole text.
class WordSink {
 public:
  virtual ~WordSink() = default;
  virtual void take(std::string_view word, bool is_first) = 0;
};

// Cuts a text into words for another sink. Immutable: what changes lies in what `run` makes.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // `word` is not empty and words given on are not.
  virtual void run(std::string_view word, bool is_first, WordSink& to) const = 0;
};

using PreTokenizers = std::vector<std::unique_ptr<const PreTokenizer>>;

// Appends what `json`, a pre_tokenizer, does, sequences flattened. Errors: see Tokenizer.
void read_pre_tokenizer(const JsonView& json, PreTokenizers& steps);

// Gives the words to `to` that all steps, one after the other, make of the text.
void pre_tokenize(const PreTokenizers& steps, std::string_view text, bool is_first, WordSink& to);

// The character that stands for a byte in byte-level tokens, in UTF-8.
std::string_view byte_character(unsigned char byte);
// The byte that a character stands for, or -1.
int byte_of_character(char32_t c);
// The characters for the bytes of a text.
void append_byte_characters(std::string& to, std::string_view text);

}  // namespace ondine::text::tokenizer
