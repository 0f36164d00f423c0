// Scores from a model whose inputs and outputs hold keys and values of earlier tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/text/generate/token_scores.h"

namespace ondine::text {

// Caches grow by a token with each step, so each step would need another plan. Where the model
// takes a mask and positions, caches have room for tokens to come, which the mask hides, so that
// the shapes stay. Spare places lie behind the tokens: only the new keys and values that a step
// returns are copied. A model with a sliding window counts them, so there they lie before the
// tokens, all of which then move with each step. Whether a model sees or counts spare places is
// found each time when room is made: one step is taken with and without them and compared.
//
// A long prompt is read in pieces, so that memory is that of a piece. Whether the model takes
// several tokens after others is found first: some tokens are read in two pieces and at once and
// compared.
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
    std::vector<Tensor> presents;  // of run_in_room: perhaps of the new tokens alone
  };

  // How many of the fresh tokens the next step takes.
  std::size_t next_piece(std::span<const std::int64_t> tokens);
  bool reads_in_pieces(std::span<const std::int64_t> tokens) const;
  Outcome run(const Step& step, const std::vector<Value>& caches) const;
  // A step with spare places. Copying these would cost more than the step.
  Outcome run_in_room(const Step& step, const std::vector<Value>& caches) const;
  Outcome taken(Results results, const Step& step, const std::vector<Value>& caches,
                bool fresh) const;
  std::vector<double> step(std::span<const std::int64_t> tokens);
  std::vector<double> step_exactly(std::span<const std::int64_t> tokens);
  std::vector<double> step_in_room(std::span<const std::int64_t> tokens);
  std::vector<double> step_to_new_room(std::span<const std::int64_t> tokens);
  // Whether the last place of each cache and scores agree with those of a step.
  bool agree(std::span<const double> scores, const std::vector<Value>& caches,
             const Outcome& found) const;
  // Whether the step, which was taken without spare places, gives the same with those of `padded`.
  bool agrees(const Step& step, const std::vector<Value>& padded,
              const std::vector<double>& scores) const;
  void keep_new(const std::vector<Tensor>& presents);
  // Caches of another length with the tokens of these.
  std::vector<Value> resized(const std::vector<Value>& caches, std::int64_t tokens,
                             std::int64_t from_first, std::int64_t length,
                             std::int64_t to_first) const;
  // The first place with a token.
  std::int64_t first_place(std::int64_t tokens, std::int64_t room) const noexcept {
    return *spare_ == Spare::behind ? 0 : room - tokens;
  }

  const DecoderCall* call_;
  std::vector<Value> caches_;
  std::int64_t known_ = 0;      // tokens that the caches have
  std::int64_t room_ = 0;       // places of the caches; 0: as many as tokens
  std::optional<Spare> spare_;  // nothing: no room
  std::optional<bool> pieces_;  // whether prompts are read so; nothing: not known yet
};

}  // namespace ondine::text
