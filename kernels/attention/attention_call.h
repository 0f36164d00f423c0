// What ScaledAttention and its gradient read of their node: shape, mask and its gradient.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/checked.h"
#include "kernels/attention/attention_primitive.h"
#include "kernels/attention/interleaved_heads.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/compute_type.h"

namespace ondine::kernels::ops {

inline bool stores_transposed_keys(const graph::NodeView& node) {
  return node.attr_int("transK", 0) != 0;
}

inline bool is_interleaved(const graph::NodeView& node) {
  return node.attr_int("interleaved", 0) != 0;
}

// Those with the heads before the rows, or back.
inline graph::Dims swap_heads(graph::Dims dims) {
  if (dims.size() >= 3) std::swap(dims[dims.size() - 3], dims[dims.size() - 2]);
  return dims;
}

// Shape and mask of a node whose q, k, v and mask begin at `at`.
struct AttentionCall {
  math::AttentionShape shape;
  double scale;
  std::vector<std::int64_t> offsets;  // of the mask of each head
  std::int64_t mask_keys = 0;
  std::int64_t copied_heads = 1;  // interleaved in the operands, copied apart

  // Keys beyond which operands are read so often that copies pay.
  static constexpr std::int64_t max_interleaved = 512;

  AttentionCall(const graph::BindContext& context, std::size_t at) {
    const bool interleaved = is_interleaved(context);
    const auto heads_first = [&](const Shape& given) {
      return interleaved ? *graph::to_shape(swap_heads(graph::to_dims(given))) : given;
    };
    const Shape q = heads_first(context.shape(at));
    const Shape v = heads_first(context.shape(at + 2));
    const std::size_t n = q.rank();
    shape = {.count = q.size(0, n - 2),
             .queries = q[n - 2],
             .keys = v[n - 2],
             .head_size = q[n - 1],
             .v_head_size = v[n - 1],
             .key_rows = !stores_transposed_keys(context)};
    if (interleaved) {
      (shape.keys > max_interleaved ? copied_heads : shape.interleaved) =
          std::max<std::int64_t>(1, q[n - 3]);
    }
    scale = double{context.attr_float("scale", 1)};
    if (context.has_input(at + 3)) locate_mask(context.shape(at + 3), q.span().first(n - 2));
  }

  void locate_mask(const Shape& mask, std::span<const std::int64_t> heads) {
    const std::size_t n = mask.rank();
    mask_keys = n > 0 ? mask[n - 1] : 1;
    const std::int64_t rows = n > 1 ? mask[n - 2] : 1;
    shape.masks = mask.size(0, n > 2 ? n - 2 : 0);
    shape.mask_per_query = rows > 1;
    // A mask of one key is repeated for all keys.
    offsets = broadcast_offsets(mask.span().first(n > 2 ? n - 2 : 0), heads, rows * shape.keys);
  }
  bool repeats() const { return mask_keys != shape.keys; }
  std::vector<std::int64_t> heads_by_mask() const {
    std::vector<std::int64_t> heads(offsets.size());
    std::iota(heads.begin(), heads.end(), 0);
    std::ranges::stable_sort(
        heads, {}, [&](std::int64_t head) { return offsets[static_cast<std::size_t>(head)]; });
    return heads;
  }

  HeadRows rows_of(std::int64_t rows, std::int64_t size) const {
    return {shape.count / std::max<std::int64_t>(1, copied_heads), rows, copied_heads, size};
  }
  HeadRows q_rows() const { return rows_of(shape.queries, shape.head_size); }
  HeadRows k_rows() const { return rows_of(shape.keys, shape.head_size); }
  HeadRows v_rows() const { return rows_of(shape.keys, shape.v_head_size); }
  HeadRows y_rows() const { return rows_of(shape.queries, shape.v_head_size); }
};

// The mask with all its keys.
template <class C>
class MaskIn {
 public:
  MaskIn(const graph::BindContext& context, Scratch& scratch, std::size_t index,
         const AttentionCall& layout)
      : source_(context, scratch, index), keys_(layout.shape.keys) {
    if (!source_ || !layout.repeats()) return;
    rows_ = context.shape(index).size();
    offset_ = scratch.add<C>(checked_mul(rows_, keys_));
  }
  const C* operator()(graph::KernelContext& call) const {
    const C* from = source_(call);
    if (rows_ == 0 || from == nullptr) return from;
    C* to = Scratch::at<C>(call, offset_);
    for (std::int64_t i = 0; i < rows_; ++i) std::fill_n(to + i * keys_, keys_, from[i]);
    return to;
  }

 private:
  ComputeIn<C> source_;
  std::int64_t keys_ = 0, rows_ = 0;
  std::size_t offset_ = 0;
};

// The gradient of a mask, for all keys until it is stored.
template <class C>
class MaskOut {
 public:
  MaskOut(const graph::BindContext& context, Scratch& scratch, std::size_t index, const Shape& mask,
          const AttentionCall& layout)
      : target_(context, scratch, index, mask.size()), keys_(layout.shape.keys) {
    if (!target_ || !layout.repeats()) return;
    rows_ = mask.size();
    offset_ = scratch.add<C>(checked_mul(rows_, keys_));
  }
  C* data(graph::KernelContext& call) const {
    return rows_ > 0 ? Scratch::at<C>(call, offset_) : target_.data(call);
  }
  void store(graph::KernelContext& call) const {
    if (rows_ > 0) {
      const C* const from = Scratch::at<C>(call, offset_);
      C* const to = target_.data(call);
      for (std::int64_t i = 0; i < rows_; ++i) {
        to[i] = std::accumulate(from + i * keys_, from + (i + 1) * keys_, C{0});
      }
    }
    target_.store(call);
  }

 private:
  ComputeOut<C> target_;
  std::int64_t keys_ = 0, rows_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace ondine::kernels::ops
