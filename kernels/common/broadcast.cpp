#include "kernels/common/broadcast.h"

#include "core/message.h"

namespace ondine::kernels {

Broadcast::Broadcast(const Shape& out, std::span<const Shape> operands)
    : operands_(operands.size()), size_(out.size()) {
  // From the last axis to the first; axes[k] is the k-th collapsed axis from the inside.
  std::array<std::int64_t, Shape::max_rank> sizes{};
  std::array<Offsets, Shape::max_rank> strides{};
  std::size_t axes = 0;
  Offsets next{1, 1, 1};  // elements of each operand below the present axis
  for (std::size_t k = 0; k < out.rank(); ++k) {
    const std::int64_t size = out[out.rank() - 1 - k];
    Offsets stride{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Shape& shape = operands[i];
      const std::int64_t have = k < shape.rank() ? shape[shape.rank() - 1 - k] : 1;
      if (have != size && have != 1) {
        fail(ErrorCode::mismatch, "shape ", shape, " does not broadcast to ", out);
      }
      stride[i] = have == 1 ? 0 : next[i];
      next[i] *= have;
    }
    if (size == 1) continue;
    bool joins = axes > 0;
    for (std::size_t i = 0; joins && i < operands.size(); ++i) {
      joins = stride[i] == strides[axes - 1][i] * sizes[axes - 1];
    }
    if (joins) {
      sizes[axes - 1] *= size;
    } else {
      sizes[axes] = size;
      strides[axes++] = stride;
    }
  }
  if (axes == 0) return;
  inner_ = sizes[0];
  for (std::size_t i = 0; i < operands.size(); ++i) repeated_[i] = strides[0][i] == 0;
  outer_.reserve(axes - 1);
  for (std::size_t k = axes; k-- > 1;) outer_.push_back({sizes[k], strides[k]});
}

Broadcast::Cursor Broadcast::at_row(std::int64_t row) const noexcept {
  Cursor cursor;
  for (std::size_t k = outer_.size(); k-- > 0;) {
    const auto& [size, strides] = outer_[k];
    cursor.at[k] = row % size;
    row /= size;
    for (std::size_t i = 0; i < operands_; ++i) cursor.x[i] += cursor.at[k] * strides[i];
  }
  return cursor;
}

void Broadcast::advance(Cursor& cursor) const noexcept {
  for (std::size_t k = outer_.size(); k-- > 0;) {
    const auto& [size, strides] = outer_[k];
    const bool carry = ++cursor.at[k] == size;
    const std::int64_t steps = carry ? 1 - size : 1;
    for (std::size_t i = 0; i < operands_; ++i) cursor.x[i] += steps * strides[i];
    if (!carry) return;
    cursor.at[k] = 0;
  }
}

std::vector<std::int64_t> broadcast_offsets(std::span<const std::int64_t> own,
                                            std::span<const std::int64_t> whole,
                                            std::int64_t block) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(Shape(whole).size()));
  for (std::size_t at = 0; at < result.size(); ++at) {
    auto rest = static_cast<std::int64_t>(at);
    std::int64_t stride = block;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::int64_t dim = whole[whole.size() - 1 - i];
      const std::int64_t own_dim = own[own.size() - 1 - i];
      if (own_dim != 1) result[at] += rest % dim * stride;
      rest /= dim;
      stride *= own_dim;
    }
  }
  return result;
}

}  // namespace ondine::kernels
