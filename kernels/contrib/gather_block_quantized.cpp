// gather_block_quantized.cpp — com.microsoft GatherBlockQuantized: the rows along gather_axis that
// indices name, of a table (q - zero point) scale with one scale and zero point for each block
// along quantize_axis. q is int4 or uint4 (zero point 0 where omitted), or uint8 that holds numbers
// of 2, 4 or 8 bits along the last axis, lower ones in lower bits (2^(bits - 1) where omitted).
#include "core/checked.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { q_in, indices_in, scales_in, points_in };

struct Form {
  std::int64_t bits;
  std::int64_t block;
  bool bytes;          // several numbers in each uint8
  std::size_t gather;  // axes of q
  std::size_t quantize;

  std::int64_t numbers_in_byte() const noexcept { return bytes ? 8 / bits : 1; }
};

Form form_of(const NodeView& node, DType dtype, std::size_t rank) {
  Form form{node.attr_int("bits", 4), node.attr_int("block_size", 128), dtype == DType::uint8,
            NodeView::normalize_axis(node.attr_int("gather_axis", 0), rank),
            NodeView::normalize_axis(node.attr_int("quantize_axis", 1), rank)};
  if (form.block < 16 || (form.block & (form.block - 1)) != 0) {
    fail(ErrorCode::mismatch, "block_size is ", form.block, ", needed: a power of 2 from 16 on");
  }
  const bool known = form.bits == 4 || (form.bytes && (form.bits == 2 || form.bits == 8));
  if (!known) {
    fail(ErrorCode::unsupported, "bits is ", form.bits, " with data of ", dtype,
         ", supported are 4, and 2 and 8 with data of uint8");
  }
  if (form.bytes && (form.gather != 0 || form.quantize + 1 != rank || rank < 2)) {
    fail(ErrorCode::mismatch, "gather_axis is ", form.gather, " and quantize_axis ", form.quantize,
         ", with data of uint8 they are the first and the last of two axes or more");
  }
  return form;
}

// The dims of `packed` with its last one counted in numbers.
Dims unpacked_dims(Dims packed, const Form& form) {
  if (!form.bytes) return packed;
  Dim& last = packed.back();
  last = last.known() ? Dim(checked_mul(last.size(), form.numbers_in_byte())) : Dim();
  return packed;
}

std::int64_t block_count(std::int64_t size, std::int64_t block) {
  return size / block + (size % block != 0);
}

void check_scales(const InferContext& context, const Form& form, const Dims& numbers) {
  if (!context.ranked(scales_in)) return;
  const Dims& scales = context.dims(scales_in);
  if (scales.size() != numbers.size()) {
    context.reject("data ", to_string(context.dims(q_in)), " and scales ", to_string(scales),
                   " differ in rank");
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Dim want = numbers[i];
    if (i == form.quantize) {
      want = want.known() ? Dim(block_count(want.size(), form.block)) : Dim();
    }
    unify(want, scales[i], "dims of scales and of data in blocks");
  }
}

void check_points(const InferContext& context, const Form& form) {
  if (!context.has_input(points_in)) return;
  if (context.dtype(points_in) != context.dtype(q_in)) {
    context.reject("data is ", context.dtype(q_in), ", zero_points ", context.dtype(points_in));
  }
  if (!context.ranked(scales_in) || !context.ranked(points_in)) return;
  Dims want = context.dims(scales_in);
  const Dims& points = context.dims(points_in);
  if (want.size() != points.size()) {
    context.reject("scales ", to_string(want), " and zero_points ", to_string(points),
                   " differ in rank");
  }
  Dim& last = want[form.quantize];
  last = last.known() ? Dim(block_count(last.size(), form.numbers_in_byte())) : Dim();
  for (std::size_t i = 0; i < want.size(); ++i) {
    unify(want[i], points[i], "dims of zero_points and scales");
  }
}

void infer(InferContext& context) {
  check_call(context, {.required = 0b111,
                       .inputs = 4,
                       .attributes = {"bits", "block_size", "gather_axis", "quantize_axis"}});
  require_floats(context, {scales_in});
  const DType dtype = context.dtype(q_in);
  if (dtype != DType::int4 && dtype != DType::uint4 && dtype != DType::uint8) {
    fail(ErrorCode::unsupported, "data is ", dtype, ", supported are int4, uint4 and uint8");
  }
  const DType index = context.dtype(indices_in);
  if (index != DType::int32 && index != DType::int64) {
    context.reject("indices are ", index, ", needed: int32 or int64");
  }
  const DType result = context.dtype(scales_in);
  if (!context.ranked(q_in)) return context.set_output(0, result, std::nullopt);
  const Form form = form_of(context, dtype, context.rank(q_in));
  const Dims numbers = unpacked_dims(context.dims(q_in), form);
  check_scales(context, form, numbers);
  check_points(context, form);
  if (!context.ranked(indices_in)) return context.set_output(0, result, std::nullopt);
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(form.gather);
  Dims y(numbers.begin(), at);
  const Dims& indices = context.dims(indices_in);
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), at + 1, numbers.end());
  context.set_output(0, result, y);
}

// The numbers in the bytes along the last axis.
Val numbers_of(Val bytes, const Form& form) {
  Builder& b = bytes.builder();
  const auto last = static_cast<std::int64_t>(bytes.rank()) - 1;
  const Val outer = graph::slice(graph::shape_of(bytes), 0, last, 0);
  const Val count = graph::dim_of(bytes, last) * b.int64(form.numbers_in_byte());
  const Val dims[] = {outer, count};
  return graph::reshape(unpacked(bytes, form.bits), graph::concat(dims, 0));
}

// The zero points in bytes, one for each scale.
Val points_of(Val bytes, Val scales, const Form& form) {
  Builder& b = bytes.builder();
  const Val count = graph::dim_of(scales, static_cast<std::int64_t>(scales.rank()) - 1);
  return b.node("Slice", {numbers_of(bytes, form), b.int64s({0}), count, b.int64s({-1})});
}

// One scale for each block of an axis of q.
Val in_blocks(Val q, Val scales, Val points, std::size_t axis, std::int64_t block) {
  return q.builder().node("DequantizeLinear", {q, scales, points},
                          {{"axis", static_cast<std::int64_t>(axis)}, {"block_size", block}});
}

// Rows are gathered as they are stored: no table is unpacked as a whole.
std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val indices = context.x(indices_in);
  for (const std::size_t i : {q_in, indices_in, scales_in}) require_rank(context, context.x(i));
  const Val table = context.x(q_in);
  const Form form = form_of(context, table.dtype(), table.rank());
  const auto axis = static_cast<std::int64_t>(form.gather);
  if (form.gather == form.quantize) {
    const Val all =
        in_blocks(table, context.x(scales_in), context.x(points_in), form.quantize, form.block);
    return {graph::gather(all, indices, axis)};
  }
  Val q = graph::gather(table, indices, axis);
  const Val scales = graph::gather(context.x(scales_in), indices, axis);
  Val points = context.x(points_in);
  if (points) {
    require_rank(context, points);
    points = graph::gather(points, indices, axis);
  }
  if (form.bytes) {
    q = numbers_of(q, form);
    if (points) {
      points = points_of(points, scales, form);
    } else {
      const auto middle = static_cast<std::uint8_t>(1U << static_cast<unsigned>(form.bits - 1));
      points = graph::expand(b.constant(Tensor::scalar(middle)), graph::shape_of(scales));
    }
  }
  const std::size_t moved =
      form.quantize < form.gather ? form.quantize : form.quantize + indices.rank() - 1;
  return {in_blocks(q, scales, points, moved, form.block)};
}

}  // namespace

extern const OpDef gather_block_quantized{
    .name = "GatherBlockQuantized", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
