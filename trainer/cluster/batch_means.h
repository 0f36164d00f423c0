// Means over a batch of which each rank computes one part at the same time.
#pragma once

#include <optional>

#include <ondine/communicator.h>

#include "core/random/row_scope.h"
#include "trainer/cluster/agreement.h"

namespace ondine::cluster {

// Means of one step. A rank with rows runs its part and then calls finish(); a rank without calls
// join(). An error that a rank throws in between reaches the others in their next mean. The bits
// are the same on all ranks.
class BatchMeans final : public PartMeans {
 public:
  // `weight`: the part of the batch's rows that this rank has.
  BatchMeans(Communicator& ranks, double weight) : ranks_(&ranks), weight_(weight) {}

  void mean(std::span<double> values) override;
  void finish();
  void join();
  // Error of a mean that all ranks throw, without the text that the nodes around it add to the
  // message; nullopt if no mean failed.
  const std::optional<AgreedError>& failure() const noexcept { return failure_; }

 private:
  void agree_on_size(std::size_t size) const;
  void exchange(std::span<double> values);

  Communicator* ranks_;
  double weight_;
  std::optional<AgreedError> failure_;
};

}  // namespace ondine::cluster
