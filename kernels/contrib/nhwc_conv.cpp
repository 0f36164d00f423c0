// nhwc_conv.cpp — com.microsoft NhwcConv: the standard's Conv with the channels of X and Y last, X
// being [N, spatial..., C]; W is that of Conv.
#include <algorithm>

#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/conv/operators/conv_shape.h"

namespace ondine::kernels::ops {
namespace {

// From channels last to channels first, or back.
std::vector<std::int64_t> permutation(std::size_t rank, bool to_last) {
  std::vector<std::int64_t> perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(i);
  if (to_last) {
    std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  } else {
    std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  }
  return perm;
}

std::optional<Dims> channels_first(const InferContext& context) {
  if (!context.ranked(0)) return std::nullopt;
  Dims dims = context.dims(0);
  if (dims.size() < 3) context.reject("X must have rank 3 or more, found ", dims.size());
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}

void infer(InferContext& context) {
  check_call(context,
             {.required = 0b11,
              .inputs = 3,
              .attributes = {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}});
  require_floats(context, {0, 1, 2});
  auto y = conv_dims(context, channels_first(context),
                     context.ranked(1) ? std::optional(context.dims(1)) : std::nullopt);
  if (y && context.has_input(2)) {
    unify(dims_of_rank(context, 2, 1, "B")[0], (*y)[1], "numbers of output channels of B and W");
  }
  if (y) std::rotate(y->begin() + 1, y->begin() + 2, y->end());
  context.set_output(0, context.dtype(0), y);
}

std::vector<Val> expand(ExpandContext& context) {
  require_rank(context, context.x(0));
  const std::size_t rank = context.x(0).rank();
  const Val y = context.builder().node(
      "Conv",
      {graph::transpose(context.x(0), permutation(rank, false)), context.x(1), context.x(2)},
      pick_attributes(context,
                      {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  return {graph::transpose(y, permutation(rank, true))};
}

}  // namespace

extern const OpDef nhwc_conv{
    .name = "NhwcConv", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
