// depth_to_space.cpp — [N, C b b, H, W] -> [N, C, H b, W b]: blocks of channels become squares of
// b x b; SpaceToDepth is the inverse;  dx = the inverse of dy. Mode DCR (depth, column, row) or,
// since DepthToSpace-11 and SpaceToDepth-28, CRD, where the channel is outermost.
#include "core/checked.h"
#include "graph/contract/ops.h"
#include "kernels/common/copy_kernel.h"

namespace ondine::kernels::ops {
namespace {

std::int64_t block_size(const NodeView& node) {
  const std::int64_t b = node.attr_int("blocksize", 0);
  if (b < 1 || b > (std::int64_t{1} << 30)) fail(ErrorCode::mismatch, "blocksize is ", b);
  return b;
}

bool columns_first(const NodeView& node) {
  const std::string mode = node.attr_string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    fail(ErrorCode::invalid_model, "unknown mode ", quoted(mode));
  }
  return mode == "CRD";
}

Dim divided(Dim dim, std::int64_t by) {
  if (!dim.known()) return {};
  if (dim.size() % by != 0) {
    fail(ErrorCode::mismatch, "dim ", dim.size(), " is not a multiple of ", by);
  }
  return dim.size() / by;
}

Dims four(const InferContext& context) {
  if (!context.ranked(0)) return Dims(4);
  if (context.rank(0) != 4) context.reject("an input of rank ", context.rank(0), ", not 4");
  return context.dims(0);
}

void infer_depth_to_space(InferContext& context) {
  const std::int64_t b = block_size(context);
  columns_first(context);
  const Dims x = four(context);
  context.set_output(
      0, context.dtype(0),
      Dims{x[0], divided(x[1], checked_mul(b, b)), multiply(x[2], b), multiply(x[3], b)});
}

void infer_space_to_depth(InferContext& context) {
  const std::int64_t b = block_size(context);
  columns_first(context);
  const Dims x = four(context);
  context.set_output(
      0, context.dtype(0),
      Dims{x[0], multiply(x[1], checked_mul(b, b)), divided(x[2], b), divided(x[3], b)});
}

Kernel bind_six(BindContext& context, const Shape& six, const std::vector<std::size_t>& perm) {
  const auto y = context.output_shape(0);
  if (!y) fail(ErrorCode::internal, "the output's shape is not known");
  return bind_copy(context, {}, [=, dtype = context.dtype(0)](CopyParameters) {
    return ShapedCopy{*y, permuted_copy(dtype, six, perm)};
  });
}

Kernel bind_depth_to_space(BindContext& context) {
  const std::int64_t b = block_size(context);
  const Shape x = context.shape(0);
  const std::int64_t c = x[1] / (b * b);
  if (columns_first(context)) {
    return bind_six(context, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  }
  return bind_six(context, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
}

Kernel bind_space_to_depth(BindContext& context) {
  const std::int64_t b = block_size(context);
  const Shape x = context.shape(0);
  const Shape six{x[0], x[1], x[2] / b, b, x[3] / b, b};
  if (columns_first(context)) return bind_six(context, six, {0, 1, 3, 5, 2, 4});
  return bind_six(context, six, {0, 3, 5, 1, 2, 4});
}

// SpaceToDepth has a mode since version 28.
std::vector<Val> inverse_of_dy(GradContext& g, const char* inverse) {
  graph::Attributes attributes{{"blocksize", block_size(g)}};
  if (columns_first(g)) attributes.push_back({"mode", std::string("CRD")});
  const Val dy = g.dy(0);
  return g.builder().nodes(inverse, {&dy, 1}, std::move(attributes), 1, "", 28);
}

std::vector<Val> grad_depth_to_space(GradContext& g) { return inverse_of_dy(g, "SpaceToDepth"); }
std::vector<Val> grad_space_to_depth(GradContext& g) { return inverse_of_dy(g, "DepthToSpace"); }

// For versions without a mode.
std::vector<Val> expand_space_to_depth(ExpandContext& context) {
  Builder& b = context.builder();
  const Val block = b.int64s({block_size(context)});
  const Val shape = shape_of(context.x(0));
  const Val first = slice(shape, 0, 2, 0);
  const Val rows = slice(shape, 2, 3, 0) / block;
  const Val columns = slice(shape, 3, 4, 0) / block;
  const Val six[] = {first, rows, block, columns, block};
  const Val channels = slice(shape, 1, 2, 0) * block * block;
  const Val four[] = {slice(shape, 0, 1, 0), channels, rows, columns};
  const std::vector<std::int64_t> perm = columns_first(context)
                                             ? std::vector<std::int64_t>{0, 1, 3, 5, 2, 4}
                                             : std::vector<std::int64_t>{0, 3, 5, 1, 2, 4};
  return {reshape(transpose(reshape(context.x(0), concat(six, 0)), perm), concat(four, 0))};
}

}  // namespace

extern const OpDef depth_to_space{.name = "DepthToSpace",
                                  .infer = infer_depth_to_space,
                                  .bind = bind_depth_to_space,
                                  .grad = grad_depth_to_space};
extern const OpDef space_to_depth{.name = "SpaceToDepth",
                                  .infer = infer_space_to_depth,
                                  .bind = bind_space_to_depth,
                                  .grad = grad_space_to_depth,
                                  .expand = expand_space_to_depth};

}  // namespace ondine::kernels::ops
