// Batches of a run with privacy: random samples of the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ondine/privacy.h>
#include <ondine/trainer.h>

#include "trainer/data/batch_reader.h"

namespace ondine::fit {

// The model's settings. Error(mismatch) for options that do not go with them, and for those of
// privacy without such a model.
std::optional<Privacy> find_privacy(const Model& model, const TrainerOptions& options);

// For people, on the batches and on what the noise is worth.
std::string note_of(const Privacy& privacy);

// The largest power of ten that is not above 1 / rows.
double default_delta(std::uint64_t rows);

// From the operating system.
std::uint64_t system_seed();

// The batches of an epoch from step `first` on. Each row is in each batch with probability size /
// rows, on its own. So that few different sizes need plans, a batch is filled up with rows that do
// not count; also an empty one.
class SampledBatches {
 public:
  // With `secret`, seed and epoch have no effect: a new key of the system's entropy draws.
  SampledBatches(std::uint64_t rows, std::uint64_t size, std::uint64_t seed, std::uint64_t epoch,
                 std::uint64_t first, bool secret = false);

  data::BatchOrder take_order() { return std::move(order_); }
  const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }
  // Which rows of the next batch count, for the input of the model that takes it.
  NamedValue next_counted(const Model& model, std::size_t algorithm);

 private:
  void finish_batch(std::size_t begin, std::uint64_t multiple);

  data::BatchOrder order_;
  std::vector<std::uint64_t> counts_;  // rows of each batch that count
  std::vector<std::uint64_t> filled_;  // rows of each batch
  std::size_t next_ = 0;
};

}  // namespace ondine::fit
