#include "trainer/text/generate/token_scores.h"

#include <algorithm>

#include "trainer/text/generate/cached_scores.h"

namespace ondine::text {
namespace {

// Computes the last tokens, as many as the model sees, anew each time.
class WindowScores final : public TokenScores {
 public:
  explicit WindowScores(const DecoderCall& call) : call_(&call) {}

  std::vector<double> next(std::span<const std::int64_t> tokens) override {
    const Step step{tokens.last(std::min(tokens.size(), call_->context()))};
    return call_->scores(call_->run(step, {}), step);
  }

 private:
  const DecoderCall* call_;
};

}  // namespace

std::unique_ptr<TokenScores> make_token_scores(const DecoderCall& call) {
  if (call.ports().caches.empty()) return std::make_unique<WindowScores>(call);
  return std::make_unique<CachedScores>(call);
}

}  // namespace ondine::text
