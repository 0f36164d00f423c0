#include "trainer/text/generate/token_scores.h"

#include <algorithm>
#include <optional>

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

// Longer texts than there are tables for are computed anew.
class BoundedScores final : public TokenScores {
 public:
  BoundedScores(const DecoderCall& call, const DecoderCall& cached, std::int64_t longest)
      : plain_(call), cached_(std::in_place, cached), longest_(longest) {}

  std::vector<double> next(std::span<const std::int64_t> tokens) override {
    if (std::ssize(tokens) > longest_) cached_.reset();
    return cached_ ? cached_->next(tokens) : plain_.next(tokens);
  }
  GenerateCache cache() const noexcept override {
    return cached_ ? cached_->cache() : plain_.cache();
  }

 private:
  WindowScores plain_;
  std::optional<CachedScores> cached_;
  std::int64_t longest_;
};

}  // namespace

std::unique_ptr<TokenScores> make_token_scores(const DecoderCall& call, const DecoderCall& cached,
                                               std::int64_t longest) {
  return std::make_unique<BoundedScores>(call, cached, longest);
}

std::unique_ptr<TokenScores> make_token_scores(const DecoderCall& call) {
  if (call.ports().caches.empty()) return std::make_unique<WindowScores>(call);
  return std::make_unique<CachedScores>(call);
}

}  // namespace ondine::text
