// Rows of the scores of attention, whose weights are multiplied in bfloat16.
#pragma once

#include <cstdint>

namespace ondine::math {

// `count` rows of n elements, from one to the next as many elements as the steps say.
struct AttentionRows {
  std::int64_t count, n;
  float scale;  // of scores
  float* values;
  std::int64_t step;
  // Results in bfloat16 (its bits), followed by zeros up to `padded` elements.
  std::uint16_t* rounded;
  std::int64_t rounded_step, padded;
};

struct AttentionRowKernels {
  // Values are scores. Their weights are softmax(scale scores + mask), 0 where they are e^-69 times
  // the largest or less. Values become the weights, too, with `keep`; otherwise they are lost. The
  // mask may be null.
  void (*weights)(const AttentionRows& rows, const float* mask, std::int64_t mask_step, bool keep);
  // Values are derivatives of weights and become those of scaled scores; rounded are those of the
  // scores, scale times as large. 0 where all of a row were 0, even if weights are NaN. Rows of
  // weights are as far apart as those of values.
  void (*gradient)(const AttentionRows& rows, const float* weights);
};

}  // namespace ondine::math
