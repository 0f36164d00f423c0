// Operands broadcast to the shape of an output.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <ondine/shape.h>

namespace ondine::kernels {

// Dims of 1 are dropped and axes that are contiguous in all operands are merged, so equal shapes
// and scalars become one run. The innermost stride of an operand is 1, or 0 where it is repeated.
class Broadcast {
 public:
  static constexpr std::size_t max_operands = 3;
  using Offsets = std::array<std::int64_t, max_operands>;

  // Each operand broadcasts to `out` in the sense of the standard.
  Broadcast(const Shape& out, std::span<const Shape> operands);

  std::int64_t size() const noexcept { return size_; }
  // Whether the operand has one element for a whole run.
  bool repeated(std::size_t operand) const noexcept { return repeated_[operand]; }

  // Calls body(y, n, x) for the runs of [first, last): output elements y .. y + n, operand i from
  // element x[i] on.
  template <class Body>
  void for_runs(std::int64_t first, std::int64_t last, Body&& body) const {
    if (first >= last) return;
    Cursor cursor = at_row(first / inner_);
    for (std::int64_t in_row = first % inner_; first < last; in_row = 0) {
      const std::int64_t n = std::min(inner_ - in_row, last - first);
      Offsets x = cursor.x;
      for (std::size_t i = 0; i < operands_; ++i) x[i] += repeated_[i] ? 0 : in_row;
      body(first, n, x);
      first += n;
      if (first < last) advance(cursor);
    }
  }

 private:
  struct Cursor {
    Offsets x{};
    std::array<std::int64_t, Shape::max_rank> at;  // on each outer axis
  };
  Cursor at_row(std::int64_t row) const noexcept;
  void advance(Cursor& cursor) const noexcept;

  std::size_t operands_ = 0;
  std::int64_t size_ = 0;
  std::int64_t inner_ = 1;
  std::array<bool, max_operands> repeated_{};
  struct Axis {
    std::int64_t size;
    Offsets strides;
  };
  std::vector<Axis> outer_;  // collapsed, without the innermost axis
};

// For each index of `whole`, in row-major order: the offset of the block of `block` elements that
// an operand with dims `own`, which broadcast to `whole`, has there.
std::vector<std::int64_t> broadcast_offsets(std::span<const std::int64_t> own,
                                            std::span<const std::int64_t> whole,
                                            std::int64_t block);

}  // namespace ondine::kernels
