// Node data of ScaledAttention, PackedAttention and their gradients: shape, operands, mask and the
// gradient of the mask.
#pragma once

#include <algorithm>
#include <array>
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

// Whether keys and values in two parts have their rows before the heads.
inline bool has_rows_first(const graph::NodeView& node) {
  return is_interleaved(node) || node.attr_int("rows_first", 0) != 0;
}

inline bool has_zero_rows(const graph::NodeView& node) {
  return node.attr_int("zero_rows", 0) != 0;
}

// Swaps heads and rows: puts the heads before the rows, or back.
inline graph::Dims swap_heads(graph::Dims dims) {
  if (dims.size() >= 3) std::swap(dims[dims.size() - 3], dims[dims.size() - 2]);
  return dims;
}

// The attribute `replaces`: "products", "mask", "both", or nothing.
inline math::Replaced replaced_by(const graph::NodeView& node) {
  const std::string what = node.attr_string("replaces", "");
  if (what == "products") return math::Replaced::products;
  if (what == "both") return math::Replaced::both;
  return what == "mask" ? math::Replaced::mask : math::Replaced::nothing;
}

// A mask of a node: which part of it each head has.
struct NodeMask {
  std::size_t input = 0;
  std::vector<std::int64_t> offsets;  // of the part of each head; none without such an input
  std::int64_t keys = 0;              // 1 is repeated for all keys
  std::int64_t count = 0;             // of parts
  bool per_query = false;

  NodeMask(const graph::BindContext& context, std::size_t at, std::span<const std::int64_t> heads,
           std::int64_t keys_of_scores)
      : input(at) {
    if (!context.has_input(at)) return;
    const Shape mask = context.shape(at);
    const std::size_t n = mask.rank();
    keys = n > 0 ? mask[n - 1] : 1;
    const std::int64_t rows = n > 1 ? mask[n - 2] : 1;
    count = mask.size(0, n > 2 ? n - 2 : 0);
    per_query = rows > 1;
    // A mask of one key is repeated for all keys.
    offsets = broadcast_offsets(mask.span().first(n > 2 ? n - 2 : 0), heads, rows * keys_of_scores);
  }

  std::vector<std::int64_t> heads_by_part() const {
    std::vector<std::int64_t> heads(offsets.size());
    std::iota(heads.begin(), heads.end(), 0);
    std::ranges::stable_sort(
        heads, {}, [&](std::int64_t head) { return offsets[static_cast<std::size_t>(head)]; });
    return heads;
  }
};

// Shape and masks of a node whose operands begin at `at`, before the masks.
struct AttentionCall {
  math::AttentionShape shape;
  double scale = 1;
  double cap = 0;  // of scores; 0: none
  bool zero_rows = false;
  std::size_t at = 0;
  std::size_t operands = 3;  // or 1, of which q, k and v are parts
  NodeMask mask, more;
  std::int64_t copied_heads = 1;  // interleaved in the operands, copied apart

  // Keys beyond which operands are read so often that copies pay.
  static constexpr std::int64_t max_interleaved = 512;

  // Reads a node whose q, k and v are three inputs.
  static AttentionCall separate(const graph::BindContext& context, std::size_t at) {
    const bool interleaved = is_interleaved(context);
    const auto heads_first = [&](const Shape& given) {
      return interleaved ? *graph::to_shape(swap_heads(graph::to_dims(given))) : given;
    };
    return AttentionCall(context, at, 3, heads_first(context.shape(at)),
                         heads_first(context.shape(at + 2)), interleaved);
  }
  // Reads a node with one operand of dims [..., rows, 3, heads, size].
  static AttentionCall packed(const graph::BindContext& context, std::size_t at) {
    graph::Dims dims = graph::to_dims(context.shape(at));
    dims.erase(dims.end() - 3);
    const Shape part = *graph::to_shape(swap_heads(std::move(dims)));
    AttentionCall call(context, at, 1, part, part, true);
    if (call.copied_heads == 1) call.shape.packed = 3;
    return call;
  }

  // Reads a node whose k and v lie in two parts: q, earlier k, k, earlier v, v. The shape is that
  // of the parts together, in the layout of q.
  static AttentionCall in_parts(const graph::BindContext& context) {
    const auto heads_first = [&](std::size_t i, bool swapped) {
      const Shape& given = context.shape(i);
      return swapped ? *graph::to_shape(swap_heads(graph::to_dims(given))) : given;
    };
    const bool beside = is_interleaved(context), rows_first = has_rows_first(context);
    const Shape q = heads_first(0, beside);
    Shape v = heads_first(4, rows_first);
    v[2] += heads_first(3, rows_first)[2];
    AttentionCall call(context, 0, 5, q, v, false);
    if (beside) call.shape.interleaved = std::max<std::int64_t>(1, q[1]);
    return call;
  }

  // Rows of q, k and v, as they lie in memory.
  std::array<HeadRows, 3> operand_rows() const {
    const auto packed = static_cast<std::int64_t>(3 / operands);
    return {rows_of(shape.queries, shape.head_size, packed, 1),
            rows_of(shape.keys, shape.head_size, packed, shape.group),
            rows_of(shape.keys, shape.v_head_size, packed, shape.group)};
  }
  HeadRows y_rows() const { return rows_of(shape.queries, shape.v_head_size, 1, 1); }
  // From the first element of a part of a packed operand to that of the next.
  std::int64_t part_elements() const { return shape.interleaved * copied_heads * shape.head_size; }

 private:
  HeadRows rows_of(std::int64_t rows, std::int64_t size, std::int64_t packed,
                   std::int64_t group) const {
    const std::int64_t heads = std::max<std::int64_t>(1, copied_heads / group);
    return {shape.count / group / heads, rows, heads, size, packed};
  }

  // `q` and `v` are shapes with the heads before the rows.
  AttentionCall(const graph::BindContext& context, std::size_t first, std::size_t count,
                const Shape& q, const Shape& v, bool interleaved)
      : scale(double{context.attr_float("scale", 1)}),
        cap(double{context.attr_float("softcap", 0)}),
        zero_rows(has_zero_rows(context)),
        at(first),
        operands(count),
        mask(context, first + count, q.span().first(q.rank() - 2), v[q.rank() - 2]),
        more(context, first + count + 1, q.span().first(q.rank() - 2), v[q.rank() - 2]) {
    const std::size_t n = q.rank();
    shape = {.count = q.size(0, n - 2),
             .queries = q[n - 2],
             .keys = v[n - 2],
             .head_size = q[n - 1],
             .v_head_size = v[n - 1],
             .key_rows = !stores_transposed_keys(context),
             .masks = mask.count,
             .mask_per_query = mask.per_query,
             .more_masks = more.count,
             .more_per_query = more.per_query,
             .replaced = replaced_by(context),
             .group = n > 2 && v[n - 3] > 0 ? q[n - 3] / v[n - 3] : 1,
             .capped = cap > 0};
    if (interleaved) {
      (shape.keys > max_interleaved ? copied_heads : shape.interleaved) =
          std::max<std::int64_t>(1, q[n - 3]);
    }
  }
};

// A mask with all its keys.
template <class C>
class MaskIn {
 public:
  MaskIn(const graph::BindContext& context, Scratch& scratch, const NodeMask& mask,
         std::int64_t keys)
      : source_(context, scratch, mask.input), keys_(keys) {
    if (!source_ || mask.keys == keys) return;
    rows_ = context.shape(mask.input).size();
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

// The gradient of the first mask, for all keys until it is stored.
template <class C>
class MaskOut {
 public:
  // The output after those of the operands.
  MaskOut(const graph::BindContext& context, Scratch& scratch, const AttentionCall& layout)
      : target_(context, scratch, layout.operands, size_of_mask(context, layout)),
        keys_(layout.shape.keys) {
    if (!target_ || layout.mask.keys == keys_) return;
    rows_ = size_of_mask(context, layout);
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
  static std::int64_t size_of_mask(const graph::BindContext& context, const AttentionCall& layout) {
    return context.has_input(layout.mask.input) ? context.shape(layout.mask.input).size() : 0;
  }

  ComputeOut<C> target_;
  std::int64_t keys_ = 0, rows_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace ondine::kernels::ops
