// early_operators.cpp — Operators of ai.onnx below version 10 that were experiments of the standard
// and that onnxruntime kept:
//   Affine              alpha x + beta
//   Crop                x [N, C, H, W] without `border` (left, top, right, bottom); with `scale`
//                       (height, width) the window of that size at (top, left)
//   ImageScaler         scale x + bias, one bias for each channel
//   ParametricSoftplus  alpha ln(1 + e^(beta x))
//   Scale               scale x
//   ScaledTanh          alpha tanh(beta x)
#include <algorithm>
#include <limits>

#include "core/checked.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void check_early(const InferContext& context, const ContribCall& call) {
  const Node& node = context.node();
  if (node.version > 9) {
    fail(ErrorCode::unsupported, "version ", node.version, " of ai.onnx does not define ",
         node.op->name, ", onnxruntime has it up to version 9");
  }
  check_call(context, call);
}

float required_float(const NodeView& node, std::string_view name) {
  if (!node.has_attr(name))
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " is missing");
  return node.attr_float(name, 0);
}

void infer_same(InferContext& context, std::initializer_list<std::string_view> attributes) {
  check_early(context, {.attributes = attributes});
  require_floats(context, {0});
  context.set_output(0, context.input(0));
}

void infer_affine(InferContext& context) { infer_same(context, {"alpha", "beta"}); }
std::vector<Val> expand_affine(ExpandContext& context) {
  return {context.x(0) * double{context.attr_float("alpha", 1)} +
          double{context.attr_float("beta", 0)}};
}

void infer_scale(InferContext& context) { infer_same(context, {"scale"}); }
std::vector<Val> expand_scale(ExpandContext& context) {
  return {context.x(0) * double{context.attr_float("scale", 1)}};
}

void infer_curve(InferContext& context) {
  infer_same(context, {"alpha", "beta"});
  required_float(context, "alpha");
  required_float(context, "beta");
}
std::vector<Val> expand_softplus(ExpandContext& context) {
  return {unary("Softplus", context.x(0) * double{required_float(context, "beta")}) *
          double{required_float(context, "alpha")}};
}
std::vector<Val> expand_tanh(ExpandContext& context) {
  return {unary("Tanh", context.x(0) * double{required_float(context, "beta")}) *
          double{required_float(context, "alpha")}};
}

void infer_image_scaler(InferContext& context) {
  infer_same(context, {"bias", "scale"});
  const auto channels = static_cast<std::int64_t>(context.attr_floats("bias").size());
  unify(dims_of_rank(context, 0, 4, "the input")[1], channels, "channels and elements of bias");
}
std::vector<Val> expand_image_scaler(ExpandContext& context) {
  const Val x = context.x(0);
  const std::vector<float> bias = context.attr_floats("bias");
  const auto channels = static_cast<std::int64_t>(bias.size());
  const Val row = context.builder().constant(Tensor::of<float>({channels, 1, 1}, bias), "bias");
  const Val y = x * double{context.attr_float("scale", 1)} + graph::cast(row, x.dtype());
  return {with_dims_of(y, x, "dims of the input and of the result")};
}

struct Window {
  std::int64_t left, top, right, bottom;
  std::vector<std::int64_t> size;  // height and width, or empty
};

Window window_of(const NodeView& node) {
  const std::vector<std::int64_t> border = node.attr_ints("border");
  Window window{0, 0, 0, 0, node.attr_ints("scale")};
  if (border.size() != 4) {
    fail(ErrorCode::invalid_model, "attribute 'border' has ", border.size(),
         " elements, needed: 4");
  }
  if (!window.size.empty() && window.size.size() != 2) {
    fail(ErrorCode::invalid_model, "attribute 'scale' has ", window.size.size(),
         " elements, needed: 2");
  }
  const auto negative = [](std::int64_t x) { return x < 0; };
  if (std::any_of(border.begin(), border.end(), negative) ||
      std::any_of(window.size.begin(), window.size.end(), negative)) {
    fail(ErrorCode::invalid_model, "attributes 'border' and 'scale' must not be negative");
  }
  window.left = border[0];
  window.top = border[1];
  window.right = border[2];
  window.bottom = border[3];
  return window;
}

// Size that a window leaves of an axis.
Dim cropped(const InferContext& context, Dim dim, std::int64_t before, std::int64_t after,
            const std::int64_t* size) {
  if (!dim.known()) return size == nullptr ? Dim() : Dim(*size);
  const std::int64_t left = size == nullptr ? dim.size() - before - after : *size;
  if (left < 0 || before > dim.size() - left) {
    context.reject("a window of ", left, " from ", before, " on does not fit into ", dim.size());
  }
  return left;
}

void infer_crop(InferContext& context) {
  check_early(context, {.attributes = {"border", "scale"}});
  require_floats(context, {0});
  const Window window = window_of(context);
  const Dims x = dims_of_rank(context, 0, 4, "the input");
  const std::int64_t* size = window.size.empty() ? nullptr : window.size.data();
  context.set_output(
      0, context.dtype(0),
      Dims{x[0], x[1], cropped(context, x[2], window.top, window.bottom, size),
           cropped(context, x[3], window.left, window.right, size == nullptr ? size : size + 1)});
}

std::vector<Val> expand_crop(ExpandContext& context) {
  const Window window = window_of(context);
  Val x = context.x(0);
  if (window.size.empty()) {
    constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
    x = graph::slice(x, window.top, window.bottom == 0 ? end : -window.bottom, 2);
    return {graph::slice(x, window.left, window.right == 0 ? end : -window.right, 3)};
  }
  x = graph::slice(x, window.top, checked_add(window.top, window.size[0]), 2);
  x = graph::slice(x, window.left, checked_add(window.left, window.size[1]), 3);
  x = with_dim(x, 2, window.size[0], "rows of the window");
  return {with_dim(x, 3, window.size[1], "columns of the window")};
}

}  // namespace

extern const OpDef affine{.name = "Affine", .infer = infer_affine, .expand = expand_affine};
extern const OpDef crop{.name = "Crop", .infer = infer_crop, .expand = expand_crop};
extern const OpDef image_scaler{
    .name = "ImageScaler", .infer = infer_image_scaler, .expand = expand_image_scaler};
extern const OpDef parametric_softplus{
    .name = "ParametricSoftplus", .infer = infer_curve, .expand = expand_softplus};
extern const OpDef scale_op{.name = "Scale", .infer = infer_scale, .expand = expand_scale};
extern const OpDef scaled_tanh{.name = "ScaledTanh", .infer = infer_curve, .expand = expand_tanh};

}  // namespace ondine::kernels::ops
