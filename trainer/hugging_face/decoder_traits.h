// Traits that tell decoders with rotary positions and RMS normalization from each other: Llama,
// Mistral, Qwen2, Qwen3, Phi-3, Gemma 2 and 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/limits.h>

#include "trainer/hugging_face/config.h"

namespace ondine::hugging_face {

struct DecoderTraits {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t inner_width = 0;  // of the feed-forward part
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t rotary_size = 0;  // elements of a head that turn
  double epsilon = 1e-6;
  double attention_scale = 1;
  double attention_softcap = 0;  // 0: none
  double score_softcap = 0;
  double embedding_scale = 1;
  std::string activation;
  std::string activation_member;  // of the config
  bool qkv_bias = false;
  bool output_bias = false;  // of attention
  bool feed_forward_bias = false;
  bool is_fused = false;         // qkv_proj and gate_up_proj
  bool has_head_norms = false;   // of queries and keys
  bool has_outer_norms = false;  // of what attention and feed-forward part give
  bool norms_add_one = false;    // to their weights
  bool is_tied = false;
  struct Layer {
    std::int64_t window = 0;   // 0: every earlier position is seen
    std::size_t rotation = 0;  // in `frequencies`
  };
  std::vector<Layer> layers;
  std::vector<std::vector<float>> frequencies;
};

// Whether there is such a decoder.
bool is_decoder_architecture(const std::string& architecture);
DecoderTraits read_decoder_traits(const std::string& architecture, const Config& config,
                                  const Limits& limits);

// Layers that a network of any family can have within the limit on nodes.
std::int64_t most_layers(const Limits& limits);
// Sizes of a network that are no size of data.
inline constexpr std::int64_t most_width = std::int64_t{1} << 24;
inline constexpr std::int64_t most_vocabulary = std::int64_t{1} << 30;

}  // namespace ondine::hugging_face
