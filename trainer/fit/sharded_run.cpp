#include "trainer/fit/sharded_run.h"

#include <utility>

namespace ondine::fit {
namespace {

std::vector<std::string> names_of(const NamedValues& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

}  // namespace

ShardedRun::ShardedRun(Model& model, const Ranks& ranks, std::size_t algorithm,
                       const std::vector<std::string>& rows, const NamedValues& results)
    : ranks_(&ranks), step_(model, algorithm, rows, names_of(results)), term_(step_.zeros()) {}

void ShardedRun::compute(std::uint64_t rows, const std::function<Batch()>& next) {
  ranks_->agree([&] {
    sum_.begin(std::exchange(mean_, {}));
    for (std::uint64_t i = 0; i < ranks_->shards(); ++i) {
      const std::uint64_t shard = ranks_->first_shard() + i;
      const std::uint64_t own = ranks_->rows_of(shard, rows);
      if (own == 0) {
        term_.set_zero();
      } else {
        const double weight = static_cast<double>(own) / static_cast<double>(rows);
        step_.compute(next(), shard, weight, term_);
      }
      sum_.add(term_);
    }
    mean_ = sum_.finish();
  });
  if (ranks_->fast_reduce()) {
    cluster::add_quickly(ranks_->communicator(), mean_);
  } else {
    cluster::add_ranks(ranks_->communicator(), mean_);
  }
}

void ShardedRun::update(std::uint64_t rows, Batch constants, bool require_finite,
                        std::span<NamedValue> results) {
  ranks_->agree([&] {
    if (require_finite) step_.require_finite(mean_);
    step_.update(mean_, rows, constants, results);
  });
}

}  // namespace ondine::fit
