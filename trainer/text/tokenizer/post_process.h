// Special tokens around the ids of a text: the post-processors of a tokenizer.json.
#pragma once

#include <optional>

#include <ondine/text.h>

#include "trainer/text/tokenizer/json_tree.h"
#include "trainer/text/tokenizer/model.h"

namespace ondine::text::tokenizer {

struct Frame {
  Ids before;
  Ids after;
  // Around and between two texts. Nothing where several post-processors add tokens, or the file has
  // no rule that keeps the order of the texts.
  std::optional<PairTemplate> pair = PairTemplate{};
  bool has_template = false;  // one of them adds tokens
};

// Adds to `frame` what `json`, a post_processor, puts around a single text. Errors: see Tokenizer.
void read_post_processor(const JsonView& json, Frame& frame);

}  // namespace ondine::text::tokenizer
