// The ranks of a run and what each of them does.
#pragma once

#include <functional>

#include <ondine/trainer.h>

#include "trainer/cluster/agreement.h"

namespace ondine::fit {

// Ranks and micro-shards that the options of a run give; empty for a run without micro-shards.
class Ranks {
 public:
  Ranks() = default;
  // Error(mismatch) for options that do not fit the ranks.
  explicit Ranks(const TrainerOptions& options);

  explicit operator bool() const noexcept { return communicator_ != nullptr; }
  Communicator& communicator() const noexcept { return *communicator_; }
  bool is_first() const noexcept { return !communicator_ || communicator_->rank() == 0; }

  std::uint64_t micro_shards() const noexcept { return micro_shards_; }
  std::uint64_t micro_rows() const noexcept { return micro_rows_; }  // of a whole batch
  std::uint64_t first_shard() const noexcept;                        // of this rank
  std::uint64_t shards() const noexcept;                             // the same
  // Rows of micro-shard `shard` in a batch of `rows` rows.
  std::uint64_t rows_of(std::uint64_t shard, std::uint64_t rows) const noexcept;
  bool fast_reduce() const noexcept { return fast_reduce_; }
  // Whether gradients are bfloat16 on their way between ranks.
  bool rounds() const noexcept { return rounds_; }
  // Whether statistics of a batch are those of all micro-shards.
  bool synchronizes() const noexcept { return synchronizes_; }

  // The rows of one epoch, in the order of `all`, that this rank takes in micro-shards, and how
  // many of them come before position `first` of `all`.
  std::vector<std::uint64_t> own_rows(const std::vector<std::uint64_t>& all) const;
  std::uint64_t own_rows_before(std::uint64_t first, std::uint64_t all) const;

  // See cluster::agree_on(); without ranks the work alone.
  std::uint32_t agree(const std::function<void()>& work, std::uint32_t wish = 0) const;
  // Work of the first rank, which the others wait for.
  void on_first(const std::function<void()>& work) const;
  // Error(mismatch) unless model, options and data are those of the other ranks.
  void require_same(const Model& model, const TrainerOptions& options, const Dataset& training,
                    const Dataset& validation) const;

 private:
  std::shared_ptr<Communicator> communicator_;
  std::uint64_t micro_shards_ = 1;
  std::uint64_t micro_rows_ = 0;
  std::uint64_t batch_ = 0;
  bool fast_reduce_ = false;
  bool rounds_ = false;
  bool synchronizes_ = false;
};

// With the number of micro-shards where it follows from the ranks, and without files that only the
// first rank writes. Error(mismatch) for options that do not go together.
TrainerOptions with_ranks(TrainerOptions options);

}  // namespace ondine::fit
