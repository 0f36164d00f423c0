// transpose.cpp — axis a of y is axis perm[a] of x (default: reversed);  dx = dy with the inverse
// permutation.
#include "kernels/common/copy_kernel.h"

namespace ondine::kernels::ops {
namespace {

std::vector<std::size_t> permutation(const NodeView& node, std::size_t rank) {
  std::vector<std::size_t> perm;
  if (!node.has_attr("perm")) {
    for (std::size_t a = rank; a-- > 0;) perm.push_back(a);
    return perm;
  }
  const auto given = node.attr_ints("perm");
  if (given.size() != rank) {
    fail(ErrorCode::mismatch, "perm has ", given.size(), " elements for rank ", rank);
  }
  return normalize_axes(given, rank);
}

void infer(InferContext& context) {
  const auto* perm = context.attr<std::vector<std::int64_t>>("perm");
  if (!context.ranked(0)) {
    std::optional<Dims> unknown;
    if (perm != nullptr && perm->size() <= Shape::max_rank) unknown.emplace(perm->size());
    return context.set_output(0, context.dtype(0), unknown);
  }
  Dims out;
  for (const std::size_t axis : permutation(context, context.rank(0))) {
    out.push_back(context.dims(0)[axis]);
  }
  context.set_output(0, context.dtype(0), out);
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const auto perm = permutation(context, x.rank());
  Shape y;
  for (const std::size_t axis : perm) y.push_back(x[axis]);
  return bind_copy(context, {}, [=, dtype = context.dtype(0)](CopyParameters) {
    return ShapedCopy{y, permuted_copy(dtype, x, perm)};
  });
}

std::vector<Val> grad(GradContext& g) {
  if (!g.has_attr("perm")) return {unary("Transpose", g.dy(0))};
  const auto given = g.attr_ints("perm");
  const auto perm = normalize_axes(given, given.size());
  std::vector<std::int64_t> inverse(perm.size());
  for (std::size_t a = 0; a < perm.size(); ++a) inverse[perm[a]] = static_cast<std::int64_t>(a);
  return {transpose(g.dy(0), inverse)};
}

bool keeps_samples(const Node& node, const Graph& graph) {
  const auto perm = permutation(NodeView(node), graph[node.inputs[0]].type.rank());
  return !perm.empty() && perm[0] == 0;
}

}  // namespace

extern const OpDef transpose_op{
    .name = "Transpose",
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .traits = {
        .per_sample = 1, .is_per_sample = keeps_samples, .cheap = true, .cannot_fail = true}};

}  // namespace ondine::kernels::ops
