// The steps of a run with micro-shards.
#pragma once

#include <functional>

#include "trainer/cluster/sharded_step.h"
#include "trainer/fit/ranks.h"

namespace ondine::fit {

class ShardedRun {
 public:
  using Batch = std::span<const NamedValue>;

  // `rows`: the inputs of the algorithm that take rows; `results`: what update() is asked for;
  // `weights`: see metric_weights(). Both `ranks` and the model must outlive it.
  ShardedRun(Model& model, const Ranks& ranks, std::size_t algorithm,
             const std::vector<std::string>& rows, const NamedValues& results,
             const graph::MeanWeights& weights);

  // Computes this rank's micro-shards of a batch of `rows` rows, one after the other, and the mean
  // over all ranks. `next` gives the rows of the next micro-shard that has any, and the other
  // feeds. Fails on all ranks if it fails on one.
  void compute(std::uint64_t rows, const std::function<Batch()>& next);
  // The update from that mean; the same on all ranks.
  void update(std::uint64_t rows, Batch constants, bool require_finite,
              std::span<NamedValue> results);

 private:
  void compute_shards(std::uint64_t rows, const std::function<Batch()>& next);
  // The one micro-shard of this rank, whose gradients go to the others while it computes.
  void compute_and_add(std::uint64_t rows, const std::function<Batch()>& next);
  // The one micro-shard of this rank, with statistics of all.
  void compute_at_once(std::uint64_t rows, const std::function<Batch()>& next);
  void compute_shard(std::uint64_t shard, std::uint64_t rows, const std::function<Batch()>& next,
                     cluster::Numbers& to, PartMeans* means = nullptr,
                     cluster::ShardedStep::Progress* progress = nullptr);
  bool adds_early() const;
  void set_buckets();
  // All ranks take the order in which rank 0 computed the gradients of its first micro-shard.
  void agree_on_order();
  void add_gradients(std::span<float> gradients) const;
  std::span<float> gradients_of(cluster::Numbers& numbers) const;

  const Ranks* ranks_;
  cluster::ShardedStep step_;
  cluster::Numbers term_;
  cluster::Numbers mean_;
  cluster::TreeSum sum_;
  std::vector<std::size_t> buckets_;  // where they end among the gradients
  std::vector<std::size_t> order_;    // of gradients as they were computed
  bool is_ordered_ = false;
};

}  // namespace ondine::fit
