// Special tokens around the ids of a text: the post-processors of a tokenizer.json.
#pragma once

#include "trainer/text/tokenizer/json_tree.h"
#include "trainer/text/tokenizer/model.h"

namespace ondine::text::tokenizer {

struct Frame {
  Ids before;
  Ids after;
};

// Adds to `frame` what `json`, a post_processor, puts around a single text. Errors: see Tokenizer.
void read_post_processor(const JsonView& json, Frame& frame);

}  // namespace ondine::text::tokenizer
