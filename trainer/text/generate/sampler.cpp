#include "trainer/text/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/message.h"
#include "core/random/random.h"

namespace ondine::text {
namespace {

// No node of a model has this stream of random numbers.
constexpr std::uint32_t sample_stream = 0xfffffffeU;

// The first of the largest. std::max_element loads it anew for each comparison.
std::size_t best_of(const std::vector<double>& scores) {
  std::size_t best = 0;
  double largest = scores[0];
  for (std::size_t id = 1; id < scores.size(); ++id) {
    if (scores[id] <= largest) continue;
    best = id;
    largest = scores[id];
  }
  return best;
}

void require_finite(const std::vector<double>& scores) {
  bool any = false;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    const double score = scores[id];
    if (std::isnan(score) || (std::isinf(score) && score > 0)) {
      fail(ErrorCode::not_finite, "the score of token ", id, " is ", score);
    }
    any = any || std::isfinite(score);
  }
  if (!any) fail(ErrorCode::not_finite, "no token has a finite score");
}

// Leaves the tokens with the largest weights: as many as `most`, of these the fewest whose weights
// add up to `share` of all that `most` allows.
void keep_largest(std::vector<double>& weights, std::size_t most, double share) {
  std::vector<std::size_t> heap;
  for (std::size_t id = 0; id < weights.size(); ++id) {
    if (weights[id] > 0) heap.push_back(id);
  }
  const auto is_later = [&](std::size_t a, std::size_t b) {
    return weights[a] < weights[b] || (weights[a] == weights[b] && a > b);
  };
  if (most < heap.size()) {
    std::nth_element(heap.begin(), heap.begin() + static_cast<std::ptrdiff_t>(most), heap.end(),
                     [&](std::size_t a, std::size_t b) { return is_later(b, a); });
    heap.resize(most);
  }
  std::vector<double> kept(weights.size());
  double sum = 0;
  for (const std::size_t id : heap) sum += weights[id];
  std::make_heap(heap.begin(), heap.end(), is_later);
  double taken = 0;
  while (!heap.empty() && (share >= 1 || taken < share * sum)) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    kept[heap.back()] = weights[heap.back()];
    taken += weights[heap.back()];
    heap.pop_back();
  }
  weights = std::move(kept);
}

}  // namespace

Sampler::Sampler(const GenerateOptions& options)
    : temperature_(options.temperature),
      top_k_(static_cast<std::size_t>(options.top_k.value_or(0))),
      top_p_(options.top_p.value_or(1)),
      min_p_(options.min_p.value_or(0)),
      penalty_(options.repeat_penalty.value_or(1)),
      seed_(options.seed.value_or(0)) {}

void Sampler::see(std::int64_t token) {
  const auto id = static_cast<std::size_t>(token);
  if (id >= seen_.size()) seen_.resize(id + 1);
  seen_[id] = true;
}

void Sampler::penalize(std::vector<double>& scores) const {
  if (penalty_ == 1) return;
  for (std::size_t id = 0; id < std::min(scores.size(), seen_.size()); ++id) {
    if (seen_[id]) scores[id] = scores[id] > 0 ? scores[id] / penalty_ : scores[id] * penalty_;
  }
}

std::vector<double> Sampler::weights(std::vector<double> scores) const {
  require_finite(scores);
  penalize(scores);
  const double best = scores[best_of(scores)];
  std::vector<double> weights(scores.size());
  std::transform(scores.begin(), scores.end(), weights.begin(),
                 [&](double score) { return std::exp((score - best) / temperature_); });
  if (top_k_ > 0 || top_p_ < 1) {
    keep_largest(weights, top_k_ > 0 ? top_k_ : weights.size(), top_p_);
  }
  // The largest weight is 1.
  for (double& weight : weights) {
    if (weight < min_p_) weight = 0;
  }
  return weights;
}

std::int64_t Sampler::choose(std::vector<double> scores, std::uint64_t step) const {
  if (temperature_ == 0) {
    require_finite(scores);
    penalize(scores);
    return static_cast<std::int64_t>(best_of(scores));
  }
  const std::vector<double> all = weights(std::move(scores));
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  double left = sum * uniform_at({seed_, step, sample_stream}, 0);
  for (std::size_t id = 0; id < all.size(); ++id) {
    left -= all[id];
    if (left < 0) return static_cast<std::int64_t>(id);
  }
  return static_cast<std::int64_t>(best_of(all));
}

}  // namespace ondine::text
