// Traits that tell the encoders from each other: BERT, RoBERTa with XLM-RoBERTa, and DistilBERT.
#pragma once

#include <cstdint>
#include <string>

#include <ondine/limits.h>

#include "trainer/hugging_face/config.h"

namespace ondine::hugging_face {

struct EncoderTraits {
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  std::int64_t types = 0;  // of tokens; 0: no embedding of them
  std::int64_t width = 0;
  std::int64_t inner_width = 0;
  std::int64_t heads = 0;
  std::int64_t layers = 0;
  std::int64_t padding = 0;  // the id
  double epsilon = 1e-12;
  std::string activation;
  std::string activation_member;  // of the config
  // Positions count the tokens that are no padding, from the one after the id of padding on.
  bool counts_tokens = false;
  bool is_tied = true;
  // Names of PyTorch's modules.
  std::string prefix;  // of the encoder below a head
  std::string layer, query, key, value, attended, attended_norm, inner, outer, outer_norm;
};

EncoderTraits read_bert_traits(const Config& config, const Limits& limits);
EncoderTraits read_roberta_traits(const Config& config, const Limits& limits);
EncoderTraits read_distilbert_traits(const Config& config, const Limits& limits);

}  // namespace ondine::hugging_face
