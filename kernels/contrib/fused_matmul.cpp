// fused_matmul.cpp — com.microsoft FusedMatMul: y = alpha op(a) op(b). transA and transB exchange
// the last two axes; transBatchA and transBatchB first move axis 0 after the batch axes, to the
// place before the last.
#include <algorithm>

#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/matmul/matmul.h"

namespace ondine::kernels::ops {
namespace {

struct Side {
  bool transposed = false;
  bool batch_last = false;
};

// Vectors are not transposed.
Side side(const NodeView& node, bool left, std::size_t rank) {
  if (rank < 2) return {};
  return {node.attr_int(left ? "transA" : "transB", 0) != 0,
          node.attr_int(left ? "transBatchA" : "transBatchB", 0) != 0 && rank > 2};
}

std::vector<std::int64_t> axis_0_inside(std::size_t rank) {
  std::vector<std::int64_t> perm;
  for (std::size_t i = 1; i + 1 < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  perm.push_back(0);
  perm.push_back(static_cast<std::int64_t>(rank) - 1);
  return perm;
}

void infer(InferContext& context) {
  check_call(context, {.required = 0b11,
                       .inputs = 2,
                       .attributes = {"alpha", "transA", "transB", "transBatchA", "transBatchB"}});
  require_floats(context, {0, 1});
  if (!context.ranked(0) || !context.ranked(1)) {
    return context.set_output(0, context.dtype(0), std::nullopt);
  }
  const auto moved = [&](std::size_t i) {
    Dims dims = context.dims(i);
    if (side(context, i == 0, dims.size()).batch_last) {
      std::rotate(dims.begin(), dims.begin() + 1, dims.end() - 1);
    }
    return dims;
  };
  context.set_output(
      0, context.dtype(0),
      matmul_dims(moved(0), moved(1), side(context, true, context.rank(0)).transposed,
                  side(context, false, context.rank(1)).transposed));
}

std::vector<Val> expand(ExpandContext& context) {
  Val a = context.x(0);
  Val b = context.x(1);
  require_rank(context, a);
  require_rank(context, b);
  const Side left = side(context, true, a.rank());
  const Side right = side(context, false, b.rank());
  if (left.batch_last) a = graph::transpose(a, axis_0_inside(a.rank()));
  if (right.batch_last) b = graph::transpose(b, axis_0_inside(b.rank()));
  const bool vectors = a.rank() < 2 || b.rank() < 2;
  const auto swapped = [](Val x) {
    std::vector<std::int64_t> perm(x.rank());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return graph::transpose(x, perm);
  };
  Val y;
  if (vectors || (!left.transposed && !right.transposed)) {
    y = graph::matmul(left.transposed ? swapped(a) : a, right.transposed ? swapped(b) : b);
  } else {
    y = context.builder().node(
        "MatMulT", {a, b},
        {{"transA", std::int64_t{left.transposed}}, {"transB", std::int64_t{right.transposed}}},
        ondine_domain);
  }
  const float alpha = context.attr_float("alpha", 1);
  return {alpha == 1 ? y : y * double{alpha}};
}

}  // namespace

extern const OpDef fused_matmul{
    .name = "FusedMatMul", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
