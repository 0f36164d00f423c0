// Treatment of the matches of a pattern that cuts a text.
#pragma once

#include <string_view>

#include "trainer/text/tokenizer/json_tree.h"
#include "trainer/text/tokenizer/split.h"

namespace ondine::text::tokenizer {

enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

Behavior read_behavior(const JsonView& json);

// Takes the parts of a text in their order, matches and what lies between, and gives on words.
class Splitter {
 public:
  Splitter(std::string_view text, bool is_first, Behavior behavior, WordSink& to)
      : text_(text), is_first_(is_first), behavior_(behavior), to_(&to) {}

  void add(std::size_t begin, std::size_t end, bool is_match);
  // After the last part.
  void finish() { flush(); }

 private:
  void flush();
  bool joins(bool is_match) const;

  std::string_view text_;
  bool is_first_;
  Behavior behavior_;
  WordSink* to_;
  // A word that the next part may become one with.
  bool has_open_ = false;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool was_match_ = false;  // of the part before
};

}  // namespace ondine::text::tokenizer
