// Scores of the token that follows others, from a model with or without caches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ondine/generate.h>

#include "trainer/text/generate/decoder_call.h"

namespace ondine::text {

// Scores of the next token of one text that grows.
class TokenScores {
 public:
  virtual ~TokenScores() = default;
  // Scores of the token after `tokens`, which begin with those of the call before and have at least
  // one more.
  virtual std::vector<double> next(std::span<const std::int64_t> tokens) = 0;
  virtual GenerateCache cache() const noexcept { return GenerateCache::none; }
};

// `call` must outlive it.
std::unique_ptr<TokenScores> make_token_scores(const DecoderCall& call);
// Scores computed by `cached`, the model with caches that was made for `call`, for texts of up to
// `longest` tokens; `call` computes those of longer texts.
std::unique_ptr<TokenScores> make_token_scores(const DecoderCall& call, const DecoderCall& cached,
                                               std::int64_t longest);

}  // namespace ondine::text
