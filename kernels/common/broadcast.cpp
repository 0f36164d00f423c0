#include "kernels/common/broadcast.h"

#include "core/message.h"

namespace ondine::kernels {

Broadcast::Broadcast(const Shape& out, std::span<const Shape> operands)
    : operands_(operands.size()), size_(out.size()) {
  // From the last axis to the first; axes[k] is the k-th collapsed axis from the inside.
  std::array<std::int64_t, Shape::max_rank> extents{};
  std::array<Offsets, Shape::max_rank> strides{};
  std::size_t axes = 0;
  Offsets next{1, 1, 1};  // elements of each operand below the present axis
  for (std::size_t k = 0; k < out.rank(); ++k) {
    const std::int64_t extent = out[out.rank() - 1 - k];
    Offsets stride{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Shape& shape = operands[i];
      const std::int64_t have = k < shape.rank() ? shape[shape.rank() - 1 - k] : 1;
      if (have != extent && have != 1) {
        fail(ErrorCode::mismatch, "shape ", shape, " does not broadcast to ", out);
      }
      stride[i] = have == 1 ? 0 : next[i];
      next[i] *= have;
    }
    if (extent == 1) continue;
    bool joins = axes > 0;
    for (std::size_t i = 0; joins && i < operands.size(); ++i) {
      joins = stride[i] == strides[axes - 1][i] * extents[axes - 1];
    }
    if (joins) {
      extents[axes - 1] *= extent;
    } else {
      extents[axes] = extent;
      strides[axes++] = stride;
    }
  }
  if (axes == 0) return;
  inner_ = extents[0];
  for (std::size_t i = 0; i < operands.size(); ++i) repeated_[i] = strides[0][i] == 0;
  for (std::size_t k = axes; k-- > 1;) {
    strides_[outer_.rank()] = strides[k];
    outer_.push_back(extents[k]);
  }
}

Broadcast::Cursor Broadcast::at_row(std::int64_t row) const noexcept {
  Cursor cursor;
  for (std::size_t k = outer_.rank(); k-- > 0;) {
    cursor.at[k] = row % outer_[k];
    row /= outer_[k];
    for (std::size_t i = 0; i < operands_; ++i) cursor.x[i] += cursor.at[k] * strides_[k][i];
  }
  return cursor;
}

void Broadcast::advance(Cursor& cursor) const noexcept {
  for (std::size_t k = outer_.rank(); k-- > 0;) {
    const bool carry = ++cursor.at[k] == outer_[k];
    const std::int64_t steps = carry ? 1 - outer_[k] : 1;
    for (std::size_t i = 0; i < operands_; ++i) cursor.x[i] += steps * strides_[k][i];
    if (!carry) return;
    cursor.at[k] = 0;
  }
}

}  // namespace ondine::kernels
