// Scores from a model whose inputs and outputs hold keys and values of earlier tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/text/generate/token_scores.h"

namespace ondine::text {

// Caches grow by a token with each step, so each step would need another plan. Where the model
// takes a mask and positions, caches are given room for tokens to come, which the mask hides: the
// shapes stay, and of what a step returns only the new keys and values are copied. Whether the
// model really does not see hidden places, as one that counts them for a sliding window does, is
// found each time when room is made: one step is taken both ways and compared.
class CachedScores final : public TokenScores {
 public:
  explicit CachedScores(const DecoderCall& call);

  std::vector<double> next(std::span<const std::int64_t> tokens) override;
  GenerateCache cache() const noexcept override {
    return room_ > 0 ? GenerateCache::padded : GenerateCache::exact;
  }

 private:
  struct Outcome {
    std::vector<double> scores;
    std::vector<Tensor> presents;
  };

  Outcome run(const Step& step, const std::vector<Value>& caches) const;
  std::vector<double> step(std::span<const std::int64_t> tokens);
  std::vector<double> step_exactly(std::span<const std::int64_t> tokens);
  std::vector<double> step_in_room(std::span<const std::int64_t> tokens);
  std::vector<double> step_to_new_room(std::span<const std::int64_t> tokens);
  bool agrees(const Outcome& padded, std::int64_t room, const std::vector<double>& scores) const;
  std::vector<Value> resized(const std::vector<Value>& caches, std::int64_t tokens,
                             std::int64_t length) const;

  const DecoderCall* call_;
  std::vector<Value> caches_;
  std::int64_t known_ = 0;  // tokens that the caches have
  std::int64_t room_ = 0;   // places of the caches; 0: as many as tokens
  bool may_pad_;
};

}  // namespace ondine::text
