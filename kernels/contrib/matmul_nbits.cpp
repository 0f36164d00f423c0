// matmul_nbits.cpp — com.microsoft MatMulNBits: y = a w^T + bias with w [N, K] held in 2, 4 or 8
// bits: w = (q - zero point) scale, one zero point and scale for each block of K. Bytes hold the
// lower numbers in their lower bits. Zero points are packed like q, or unpacked in a's dtype. g_idx
// names the block of each of the K.
#include "core/checked.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { a_in, q_in, scales_in, points_in, group_in, bias_in };

std::int64_t bits(const NodeView& node) {
  const std::int64_t count = node.attr_int("bits", 4);
  if (count != 2 && count != 4 && count != 8) {
    fail(ErrorCode::unsupported, "bits is ", count, ", supported are 2, 4 and 8");
  }
  return count;
}

void infer(InferContext& context) {
  check_call(context, {.required = 0b111,
                       .inputs = 6,
                       .attributes = {"K", "N", "accuracy_level", "bits", "block_size",
                                      "weight_prepacked"}});
  require_floats(context, {a_in, scales_in, bias_in});
  require_value(context, "weight_prepacked", 0);
  if (context.dtype(q_in) != DType::uint8) {
    context.reject("B is ", context.dtype(q_in), ", needed: uint8");
  }
  bits(context);
  const std::int64_t k = positive_attribute(context, "K");
  const std::int64_t n = positive_attribute(context, "N");
  positive_attribute(context, "block_size");
  if (!context.ranked(a_in)) return context.set_output(0, context.dtype(a_in), std::nullopt);
  Dims y = context.dims(a_in);
  if (y.empty()) context.reject("A must have rank 1 or more");
  unify(y.back(), k, "the last dim of A and K");
  y.back() = n;
  context.set_output(0, context.dtype(a_in), y);
}

class Weights {
 public:
  explicit Weights(ExpandContext& context)
      : context_(context),
        b_(context.builder()),
        bits_(bits(context)),
        n_(context.attr_int("N", 0)),
        k_(context.attr_int("K", 0)),
        block_(context.attr_int("block_size", 0)),
        blocks_((k_ - 1) / block_ + 1) {}

  // [N, K]
  Val value() {
    const DType dtype = context_.x(a_in).dtype();
    const Val packed = graph::reshape(context_.x(q_in), {n_, -1});
    const Val q = graph::cast(rows_of(packed), dtype);
    const Val scales = graph::reshape(context_.x(scales_in), {n_, blocks_});
    if (const Val group = context_.x(group_in)) {
      const Val indices = graph::slice(group, 0, k_, 0);
      const Val point = points();
      const Val shift = point.rank() == 2 ? graph::gather(point, indices, 1) : point;
      return (graph::slice(q, 0, k_, 1) - shift) * graph::gather(scales, indices, 1);
    }
    Val shift = points();
    if (shift.rank() == 2) shift = graph::unsqueeze(shift, {2});
    const Val blocks = graph::reshape(q, {n_, blocks_, block_});
    const Val w = (blocks - shift) * graph::unsqueeze(scales, {2});
    const std::int64_t length = checked_mul(blocks_, block_);
    const Val rows = graph::reshape(w, {n_, length});
    return k_ == length ? rows : graph::slice(rows, 0, k_, 1);
  }

 private:
  Val rows_of(Val bytes) { return graph::reshape(unpacked(bytes, bits_), {n_, -1}); }

  // [N, blocks], or a scalar.
  Val points() {
    const DType dtype = context_.x(a_in).dtype();
    const Val given = context_.x(points_in);
    if (!given) return b_.scalar(static_cast<double>(1 << (bits_ - 1)), dtype);
    if (given.dtype() != DType::uint8) {
      return graph::cast(graph::reshape(given, {n_, blocks_}), dtype);
    }
    const Val all = rows_of(graph::reshape(given, {n_, -1}));
    return graph::cast(graph::slice(all, 0, blocks_, 1), dtype);
  }

  ExpandContext& context_;
  Builder& b_;
  std::int64_t bits_, n_, k_, block_, blocks_;
};

std::vector<Val> expand(ExpandContext& context) {
  const Val a = context.x(a_in);
  require_rank(context, a);
  const Val w = Weights(context).value();
  const Val y =
      a.rank() == 1
          ? graph::matmul(w, a)
          : context.builder().node("MatMulT", {a, w}, {{"transB", std::int64_t{1}}}, ondine_domain);
  return {add_if(y, context.x(bias_in))};
}

}  // namespace

extern const OpDef matmul_nbits{
    .name = "MatMulNBits", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
