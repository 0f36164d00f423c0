// The steps of a run with micro-shards.
#pragma once

#include <functional>

#include "trainer/cluster/sharded_step.h"
#include "trainer/fit/ranks.h"

namespace ondine::fit {

class ShardedRun {
 public:
  using Batch = std::span<const NamedValue>;

  // `rows`: the inputs of the algorithm that take rows; `results`: what update() is asked for. Both
  // `ranks` and the model must outlive it.
  ShardedRun(Model& model, const Ranks& ranks, std::size_t algorithm,
             const std::vector<std::string>& rows, const NamedValues& results);

  // What this rank's micro-shards of a batch of `rows` rows compute, one after the other, and the
  // mean over all ranks. `next` gives the rows of the next micro-shard that has any, and what is
  // fed besides. Fails on all ranks where it fails on one.
  void compute(std::uint64_t rows, const std::function<Batch()>& next);
  // The update from that mean; the same on all ranks.
  void update(std::uint64_t rows, Batch constants, bool require_finite,
              std::span<NamedValue> results);

 private:
  const Ranks* ranks_;
  cluster::ShardedStep step_;
  cluster::Numbers term_;
  cluster::Numbers mean_;
  cluster::TreeSum sum_;
};

}  // namespace ondine::fit
