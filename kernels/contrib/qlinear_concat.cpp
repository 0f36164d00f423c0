// qlinear_concat.cpp — com.microsoft QLinearConcat: (scale and zero point of y, then each operand,
// its scale and its zero point) -> the operands side by side along `axis`, quantized alike.
#include <limits>

#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { y_scale_in, y_point_in, first_in };

void infer(InferContext& context) {
  check_call(context, {.required = 0b11111,
                       .inputs = std::numeric_limits<std::size_t>::max(),
                       .attributes = {"axis"}});
  if ((context.input_count() - first_in) % 3 != 0) {
    context.reject("has ", context.input_count(), " inputs, needed: 2 and 3 for each operand");
  }
  require_bytes(context, y_point_in);
  require_floats(context, {y_scale_in});
  std::optional<Dims> y;
  bool ranked = true;
  for (std::size_t i = first_in; i < context.input_count(); i += 3) {
    require_quantized(context, i, i + 1, i + 2);
    ranked = ranked && context.ranked(i);
    if (!context.ranked(i)) continue;
    const Dims& x = context.dims(i);
    const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.size());
    if (y && y->size() != x.size()) context.reject("operands of different ranks");
    for (std::size_t a = 0; y && a < x.size(); ++a) {
      (*y)[a] = a == axis ? add((*y)[a], x[a]) : unify((*y)[a], x[a], "dims of the operands");
    }
    if (!y) y = x;
  }
  context.set_output(0, context.dtype(y_point_in), ranked ? y : std::nullopt);
}

std::vector<Val> expand(ExpandContext& context) {
  std::vector<Val> parts;
  for (std::size_t i = first_in; i < context.input_count(); i += 3) {
    parts.push_back(dequantize(context.x(i), context.x(i + 1), context.x(i + 2)));
  }
  return {quantize(graph::concat(parts, context.attr_int("axis", 0)), context.x(y_scale_in),
                   context.x(y_point_in), context.x(y_point_in).dtype())};
}

}  // namespace

extern const OpDef qlinear_concat{
    .name = "QLinearConcat", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
