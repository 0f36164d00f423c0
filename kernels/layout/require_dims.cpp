// require_dims.cpp — RequireDims (ai.ondine): (x[, like]) -> y = x. Refused where the dims `axes`
// of x (by default all) are not the dims `like_axes` of `like`, or `sizes`, or where they are no
// multiples of `multiple_of`; the message begins with the text `what`. Expansions put it where only
// a run tells dims, as nothing else of the operator is left then;  dx = dy.
#include <numeric>

#include "kernels/layout/checked_identity.h"

namespace ondine::kernels::ops {
namespace {

// The dims that those of x must be.
Dims needed_dims(const InferContext& context, const std::vector<std::int64_t>& axes) {
  Dims needed(axes.size());
  if (!context.has_input(1)) {
    const auto sizes = context.attr_ints("sizes");
    std::copy_n(sizes.begin(), std::min(sizes.size(), needed.size()), needed.begin());
    return needed;
  }
  if (!context.ranked(1)) return needed;
  const Dims& like = context.dims(1);
  const auto like_axes = context.attr_ints("like_axes", axes);
  for (std::size_t i = 0; i < needed.size() && i < like_axes.size(); ++i) {
    needed[i] = like[NodeView::normalize_axis(like_axes[i], like.size())];
  }
  return needed;
}

void check(const InferContext& context, Dims& dims) {
  const std::string what = context.attr_string("what", "");
  std::vector<std::int64_t> axes(dims.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (context.has_attr("axes")) {
    axes = context.attr_ints("axes");
  } else if (context.has_input(1) && context.ranked(1) && context.rank(1) != dims.size()) {
    context.reject(what, " differ: ", graph::to_string(dims), " and ",
                   graph::to_string(context.dims(1)));
  }
  const std::int64_t multiple = context.attr_int("multiple_of", 1);
  const Dims needed = needed_dims(context, axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = dims[NodeView::normalize_axis(axes[i], dims.size())];
    dim = unify(dim, needed[i], what);
    if (dim.known() && dim.size() % multiple != 0) {
      context.reject(what, ": ", dim.size(), " is not a multiple of ", multiple);
    }
  }
}

void infer(InferContext& context) {
  Type type = context.input(0);
  if (type.ranked()) check(context, *type.dims);
  context.set_output(0, std::move(type));
}

}  // namespace

// Not a view: passes drop views of constants and views that keep the type.
extern const OpDef require_dims{.name = "RequireDims",
                                .domain = ondine_domain,
                                .infer = infer,
                                .bind = bind_identity,
                                .grad = identity_grad,
                                .expand = expand_to_identity,
                                .traits = {.inplace = 1, .shape_only = 0b10, .cheap = true},
                                .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
