#include "trainer/fit/sharded_run.h"

#include <exception>
#include <numeric>
#include <utility>

#include "trainer/cluster/batch_means.h"
#include "trainer/cluster/bucket_sum.h"

namespace ondine::fit {
namespace {

constexpr std::size_t least_bucket = std::size_t{1} << 18;  // gradients

std::vector<std::string> names_of(const NamedValues& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

}  // namespace

ShardedRun::ShardedRun(Model& model, const Ranks& ranks, std::size_t algorithm,
                       const std::vector<std::string>& rows, const NamedValues& results,
                       const graph::MeanWeights& weights)
    : ranks_(&ranks),
      step_(model, algorithm, rows, names_of(results), weights, ranks.synchronizes()),
      term_(step_.zeros()) {
  set_buckets();
}

void ShardedRun::set_buckets() {
  buckets_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : step_.gradient_ends()) {
    if (end - begin < least_bucket && end != step_.gradient_ends().back()) continue;
    buckets_.push_back(end);
    begin = end;
  }
}

std::span<float> ShardedRun::gradients_of(cluster::Numbers& numbers) const {
  return std::span(numbers.floats).subspan(step_.first_gradient());
}

void ShardedRun::add_gradients(std::span<float> gradients) const {
  if (ranks_->rounds()) {
    cluster::add_rounded(ranks_->communicator(), gradients);
  } else {
    cluster::add_quickly(ranks_->communicator(), gradients);
  }
}

bool ShardedRun::adds_early() const {
  return ranks_->fast_reduce() && !ranks_->synchronizes() && step_.counts_rows() &&
         ranks_->communicator().size() > 1 && !buckets_.empty();
}

void ShardedRun::compute_shard(std::uint64_t shard, std::uint64_t rows,
                               const std::function<Batch()>& next, cluster::Numbers& to,
                               PartMeans* means, cluster::ShardedStep::Progress* progress) {
  const std::uint64_t own = ranks_->rows_of(shard, rows);
  if (own == 0) return to.set_zero();
  const double weight = static_cast<double>(own) / static_cast<double>(rows);
  step_.compute(next(), {shard, shard * ranks_->micro_rows(), own, means}, weight, to, progress);
}

void ShardedRun::compute_shards(std::uint64_t rows, const std::function<Batch()>& next) {
  sum_.begin(std::exchange(mean_, {}));
  for (std::uint64_t i = 0; i < ranks_->shards(); ++i) {
    compute_shard(ranks_->first_shard() + i, rows, next, term_);
    sum_.add(term_);
  }
  mean_ = sum_.finish();
}

void ShardedRun::compute_and_add(std::uint64_t rows, const std::function<Batch()>& next) {
  if (mean_.floats.empty()) mean_ = step_.zeros();
  cluster::BucketSum buckets(ranks_->communicator(), gradients_of(mean_), buckets_,
                             [&](std::span<float> values) { add_gradients(values); });
  try {
    cluster::ShardedStep::Progress progress{[&](std::size_t count) { buckets.advance(count); }, {}};
    compute_shard(ranks_->first_shard(), rows, next, mean_, nullptr, &progress);
    if (!is_ordered_) order_ = std::move(progress.order);
  } catch (...) {
    buckets.give_up(std::current_exception());
  }
  buckets.finish();
}

void ShardedRun::compute_at_once(std::uint64_t rows, const std::function<Batch()>& next) {
  const std::uint64_t own = ranks_->rows_of(ranks_->first_shard(), rows);
  cluster::BatchMeans means(ranks_->communicator(),
                            static_cast<double>(own) / static_cast<double>(rows));
  if (mean_.floats.empty() && mean_.doubles.empty()) mean_ = step_.zeros();
  try {
    compute_shard(ranks_->first_shard(), rows, next, mean_, &means);
  } catch (...) {
    if (means.failure()) throw cluster::AgreedError(*means.failure());
    throw;
  }
  if (own == 0) {
    means.join();
  } else {
    means.finish();
  }
}

void ShardedRun::agree_on_order() {
  const std::size_t count = step_.gradient_ends().size();
  if (order_.size() != count) {  // this rank had no rows
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }
  ranks_->communicator().broadcast(std::as_writable_bytes(std::span(order_)), 0);
}

void ShardedRun::compute(std::uint64_t rows, const std::function<Batch()>& next) {
  const bool early = adds_early();
  if (!is_ordered_ && !order_.empty()) {
    step_.reorder_gradients(order_);
    set_buckets();
    is_ordered_ = true;
  }
  ranks_->agree([&] {
    if (early) {
      compute_and_add(rows, next);
    } else if (ranks_->synchronizes()) {
      compute_at_once(rows, next);
    } else {
      compute_shards(rows, next);
    }
  });
  Communicator& ranks = ranks_->communicator();
  if (!ranks_->fast_reduce()) {
    cluster::add_ranks(ranks, mean_);
  } else {
    cluster::add_quickly(ranks, std::span(mean_.floats).first(step_.first_gradient()));
    cluster::add_quickly(ranks, std::span(mean_.doubles));
    if (!early) {
      add_gradients(gradients_of(mean_));
    } else if (!is_ordered_) {
      agree_on_order();
    }
  }
  step_.make_means(mean_);
}

void ShardedRun::update(std::uint64_t rows, Batch constants, bool require_finite,
                        std::span<NamedValue> results) {
  ranks_->agree([&] {
    if (require_finite) step_.require_finite(mean_);
    step_.update(mean_, rows, constants, results);
  });
}

}  // namespace ondine::fit
