// Small networks in double, trained with and without privacy.
#pragma once

#include <ondine/prepare.h>

namespace ondine::test {

// SGD with rate 1, no initialization: a step subtracts the gradient.
PrepareOptions plain_options();
PrepareOptions private_options(float clip, float noise, std::uint64_t batch_size);

// x [N, 5], float64; logits [N, 3].
std::vector<std::byte> two_layers();
// x [N, 2, 9, 8]; convolutions with padding, strides, dilations and groups; logits [N, 3].
std::vector<std::byte> convolutions();
// ids [N, 4] of 7 words, int64; a block of a transformer with one head of 4; logits [N, 3].
std::vector<std::byte> attention_block();

}  // namespace ondine::test
