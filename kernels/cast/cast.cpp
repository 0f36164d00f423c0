// cast.cpp — Cast to attribute `to`, CastLike to the dtype of input 1: y = x in another dtype;
// dx = dy cast back, between floats. Cast-1 has `to` as a name. 9 adds strings, 13 bfloat16, 19
// the float8 formats and `saturate`, 21 4-bit integers, 23 float4, 24 float8e8m0 and `round_mode`,
// 25 2-bit integers.
#include "kernels/cast/cast_rows.h"
#include "kernels/common/constant_integers.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

DType target_of(const NodeView& node) {
  if (node.version() < 6) {
    std::string name = node.attr_string("to", "");
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const DType dtype = dtype_from_string(name);
    if (dtype == DType::undefined) {
      fail(ErrorCode::invalid_model, "attribute \"to\" is ", quoted(name), ", needed: a dtype");
    }
    return dtype;
  }
  const std::int64_t code = node.attr_int("to", 0);
  if (code <= 0 || code >= dtype_count) {
    fail(ErrorCode::invalid_model, "attribute \"to\" is ", code, ", needed: a dtype, 1 to ",
         dtype_count - 1);
  }
  return static_cast<DType>(code);
}

CastOptions options_of(const NodeView& node) {
  const std::string mode = node.attr_string("round_mode", "up");
  CastOptions options{.saturate = node.attr_int("saturate", 1) != 0};
  if (mode == "down") {
    options.round = RoundMode::down;
  } else if (mode == "nearest") {
    options.round = RoundMode::nearest;
  } else if (mode != "up") {
    fail(ErrorCode::invalid_model, "attribute \"round_mode\" is ", quoted(mode),
         ", needed: \"up\", \"down\" or \"nearest\"");
  }
  return options;
}

void infer_as(InferContext& context, DType dtype) {
  options_of(context);
  Type type = context.input(0);
  type.dtype = dtype;
  context.set_output(0, std::move(type));
  if (dtype == DType::int64) copy_known_elements(context);
}

void infer_cast(InferContext& context) { infer_as(context, target_of(context)); }
void infer_cast_like(InferContext& context) { infer_as(context, context.dtype(1)); }

Kernel bind(BindContext& context) {
  return bind_cast(context, context.dtype(0), context.output_dtype(0), options_of(context));
}

std::vector<Val> grad(GradContext& g) { return {graph::cast(g.dy(0), g.x(0).dtype())}; }

}  // namespace

extern const OpDef cast_op{.name = "Cast",
                           .infer = infer_cast,
                           .bind = bind,
                           .grad = grad,
                           .traits = {.inplace = 1, .cheap = true, .cannot_fail = true}};
extern const OpDef cast_like{.name = "CastLike",
                             .infer = infer_cast_like,
                             .bind = bind,
                             .grad = grad,
                             .traits = {.inplace = 1, .shape_only = 2, .cheap = true},
                             .no_gradient = 2};

}  // namespace ondine::kernels::ops
