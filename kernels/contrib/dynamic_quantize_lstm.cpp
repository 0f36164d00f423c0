// dynamic_quantize_lstm.cpp — com.microsoft DynamicQuantizeLSTM: the standard's LSTM with quantized
// weights W [directions, input_size, 4 hidden_size] and R [directions, hidden_size, 4 hidden_size],
// whose scales and zero points are per direction or per column. X is rounded to 8 bits by
// DynamicQuantizeLinear; states, which onnxruntime rounds in every step, are not.
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  x_in,
  w_in,
  r_in,
  b_in,
  lengths_in,
  h_in,
  c_in,
  p_in,
  w_scale_in,
  w_point_in,
  r_scale_in,
  r_point_in
};

void infer(InferContext& context) {
  check_call(context, {.required = 0b111100000111,
                       .inputs = 12,
                       .outputs = 3,
                       .attributes = {"activation_alpha", "activation_beta", "activations", "clip",
                                      "direction", "hidden_size", "input_forget"}});
  require_floats(context, {x_in, b_in, h_in, c_in, p_in, w_scale_in, r_scale_in});
  require_quantized(context, w_in, w_scale_in, w_point_in);
  require_quantized(context, r_in, r_scale_in, r_point_in);
  const Dims x = dims_of_rank(context, x_in, 3, "X");
  const Dims w = dims_of_rank(context, w_in, 3, "W");
  const Dims r = dims_of_rank(context, r_in, 3, "R");
  unify(w[1], x[2], "rows of W and the size of the input");
  const Dim directions = unify(w[0], r[0], "directions");
  unify(w[2], r[2], "columns of W and R");
  const Dim hidden =
      context.has_attr("hidden_size") ? Dim(positive_attribute(context, "hidden_size")) : r[1];
  unify(r[1], hidden, "rows of R and hidden_size");
  unify(r[2], multiply(4, hidden), "columns of R and hidden_size");
  const Dims state{directions, x[1], hidden};
  context.set_output(0, context.dtype(x_in), Dims{x[0], directions, x[1], hidden});
  context.set_output(1, context.dtype(x_in), state);
  context.set_output(2, context.dtype(x_in), state);
}

// [directions, 4 hidden_size, rows]
Val weights(ExpandContext& context, std::size_t q, std::size_t scale, std::size_t point) {
  const auto spread = [&](Val p) {
    require_rank(context, p);
    return graph::unsqueeze(
        p, p.rank() == 1 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1});
  };
  const Val s = context.x(scale);
  const Val elements = graph::cast(context.x(q), s.dtype());
  const Val centred = elements - graph::cast(spread(context.x(point)), s.dtype());
  const Val y = with_dims_of(centred * spread(s), elements, "dims of weights and of their scales");
  return graph::transpose(y, {0, 2, 1});
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(x_in);
  const auto rounded = context.builder().nodes("DynamicQuantizeLinear", {&x, 1}, {}, 3);
  const Val operands[] = {dequantize(rounded[0], rounded[1], rounded[2]),
                          weights(context, w_in, w_scale_in, w_point_in),
                          weights(context, r_in, r_scale_in, r_point_in),
                          context.x(b_in),
                          context.x(lengths_in),
                          context.x(h_in),
                          context.x(c_in),
                          context.x(p_in)};
  return context.builder().nodes("LSTM", operands, context.node().attributes, 3);
}

}  // namespace

extern const OpDef dynamic_quantize_lstm{
    .name = "DynamicQuantizeLSTM", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
