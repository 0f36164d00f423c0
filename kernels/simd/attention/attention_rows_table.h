// Rows of the scores of attention, whose weights are multiplied in bfloat16.
#pragma once

#include <cstdint>

namespace ondine::math {

// Of n scores; what is rounded to bfloat16 (its bits) has zeros after them, up to `padded`
// elements.
struct AttentionRowKernels {
  // Scores become weights, softmax(scale scores + mask), 0 where they are e^-69 times the largest
  // or less. The mask may be null.
  void (*weights)(std::uint16_t* rounded, float* scores, const float* mask, float scale,
                  std::int64_t n, std::int64_t padded);
  // Derivatives of weights become those of scaled scores; rounded are those of the scores, scale
  // times as large. 0 where all were 0, even if weights are NaN.
  void (*gradient)(std::uint16_t* rounded, float* derivatives, const float* weights, float scale,
                   std::int64_t n, std::int64_t padded);
};

}  // namespace ondine::math
