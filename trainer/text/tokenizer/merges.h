// The pairs of tokens that byte pair encoding merges.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/text/tokenizer/vocabulary.h"

namespace ondine::text::tokenizer {

struct Merge {
  Id right;
  Id merged;
  std::uint32_t rank;  // the least is merged first
};

class Merges {
 public:
  // Reads a list of "left right" or [left, right]. The merged token is the text of both, without
  // the first `prefix` bytes of the right one. Error(corrupt) naming a token that the vocabulary
  // lacks.
  Merges(const JsonView& json, const Vocabulary& vocabulary, std::size_t prefix);

  // nullptr where the pair is not merged.
  const Merge* find(Id left, Id right) const noexcept {
    if (left < 0) return nullptr;
    const auto at = static_cast<std::size_t>(left);
    std::uint32_t first = begins_[at];
    std::uint32_t count = begins_[at + 1] - first;
    while (count > 0) {
      const std::uint32_t half = count / 2;
      if (merges_[first + half].right < right) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return first < begins_[at + 1] && merges_[first].right == right ? &merges_[first] : nullptr;
  }
  const std::vector<Merge>& all() const noexcept { return merges_; }

 private:
  std::vector<Merge> merges_;          // by left token, then by right one
  std::vector<std::uint32_t> begins_;  // of each left token; one more at the end
};

}  // namespace ondine::text::tokenizer
