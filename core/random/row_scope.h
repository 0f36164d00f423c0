// A part of a batch, whose random numbers are those that its rows would have in the whole batch.
#pragma once

#include <cstdint>
#include <span>

namespace ondine {

// Means over a batch whose parts are computed at once, by several processes or threads.
class PartMeans {
 public:
  virtual ~PartMeans() = default;
  // Takes means over the rows of this part and gives those over all rows, the same in each part.
  // All parts call it in the same order with as many values.
  virtual void mean(std::span<double> values) = 0;
};

struct RowRange {
  std::uint64_t part = 0;      // its number
  std::uint64_t first = 0;     // the rows of the batch before it
  std::uint64_t count = 0;     // its rows
  PartMeans* means = nullptr;  // where nodes need them (BatchMean)
};

// While it lives, kernels that run on this thread compute a part of the batch of this step. The
// innermost counts.
class RowScope {
 public:
  RowScope(const RowRange& rows, std::uint64_t step) noexcept;
  ~RowScope();
  RowScope(const RowScope&) = delete;
  RowScope& operator=(const RowScope&) = delete;

  // nullptr outside of any.
  static const RowScope* current() noexcept;

  const RowRange& rows() const noexcept { return rows_; }
  std::uint64_t step() const noexcept { return step_; }

 private:
  RowRange rows_;
  std::uint64_t step_;
  const RowScope* outer_;
};

}  // namespace ondine
