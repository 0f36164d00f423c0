// A text for a model of the next token, with the parts of it that are answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ondine/text.h>

namespace ondine::data {

struct Passage {
  // From byte `begin` to byte `end` of the text.
  struct Answer {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::string text;
  std::vector<Answer> answers = {};  // in order
  // The text says itself where it begins and ends: no tokens are put around it.
  bool is_whole = false;
};

struct MarkedIds {
  std::vector<std::int64_t> ids;
  std::vector<bool> counts;  // which ids are labels
};

// The ids of the text as a whole, with the tokens that begin and end a text around them unless it
// is whole. A token belongs to an answer unless it, or one before it, would be another one where
// the text ended at the answer's beginning (or its end): one that reaches over the beginning is a
// label, one that reaches over the end is none.
MarkedIds encode_passage(const Passage& passage, const TextEncoding& encoding, LossOn loss_on);
// The ids of a text without tokens around it.
std::vector<std::int64_t> encode_bare(const std::string& text, const TextEncoding& encoding);

}  // namespace ondine::data
