#include <algorithm>
#include <numeric>

#include <ondine/data.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/batch_reader.h"

namespace ondine {

Batches Dataset::batches(std::uint64_t size) const { return batches(size, BatchOptions{}); }

Batches Dataset::batches(std::uint64_t size, const BatchOptions& options) const {
  return guard_memory("take batches", [&] {
    if (size == 0) fail(ErrorCode::mismatch, "a batch needs at least one row");
    // A part that the data does not have, as that for validation, has no columns to choose from.
    if (empty()) return Batches(Feeder({}, *this), {}, size);
    Feeder feeder(options.inputs.empty() ? columns() : options.inputs, *this, options.map,
                  options.roles);
    const std::uint64_t n = feeder.size();
    if (feeder.fixed_batch() && *feeder.fixed_batch() != size) {
      fail(ErrorCode::mismatch, "the inputs take batches of ", *feeder.fixed_batch(), ", not of ",
           size);
    }
    std::vector<std::uint64_t> order;
    if (options.shuffle) {
      order = shuffled(n, options.seed, options.epoch);
    } else {
      order.resize(n);
      std::iota(order.begin(), order.end(), std::uint64_t{0});
    }
    if (feeder.fixed_batch()) order.resize(n / size * size);
    return Batches(std::move(feeder), std::move(order), size);
  });
}

Batches::Batches(Feeder feeder, std::vector<std::uint64_t> order, std::uint64_t size)
    : feeder_(std::make_shared<Feeder>(std::move(feeder))), order_(std::move(order)), size_(size) {}

std::uint64_t Batches::count() const noexcept {
  return order_.size() / size_ + (order_.size() % size_ != 0 ? 1 : 0);
}

void Batches::take(std::uint64_t number) {
  if (number >= count()) return;
  const std::uint64_t first = number * size_;
  batch_.rows_ =
      std::span(order_).subspan(first, std::min<std::uint64_t>(size_, order_.size() - first));
  if (number == 0) {
    reader_ = std::make_shared<data::BatchReader>(*feeder_,
                                                  data::BatchOrder{.rows = order_, .size = size_});
  }
  batch_.feeds_ = reader_->next();
}

}  // namespace ondine
