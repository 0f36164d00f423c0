// Chooses a token by the scores of all.
#pragma once

#include <cstdint>
#include <vector>

#include <ondine/generate.h>

namespace ondine::text {

class Sampler {
 public:
  explicit Sampler(const GenerateOptions& options);

  // The token was in the prompt or was chosen: repeat_penalty applies to it from now on.
  void see(std::int64_t token);
  // Choice number `step` among the tokens, whose scores are by id. Error(not_finite) for a score
  // that is NaN or infinite, or where all are minus infinity.
  std::int64_t choose(std::vector<double> scores, std::uint64_t step) const;
  // Weights that choose() draws by at a temperature above 0: the probabilities times a factor, 0
  // for tokens that are left out.
  std::vector<double> weights(std::vector<double> scores) const;

 private:
  void penalize(std::vector<double>& scores) const;

  double temperature_;
  std::size_t top_k_;  // 0: all
  double top_p_;
  double min_p_;
  double penalty_;
  std::uint64_t seed_;
  std::vector<bool> seen_;  // by id
};

}  // namespace ondine::text
