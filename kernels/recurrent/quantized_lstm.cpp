// quantized_lstm.cpp — QuantizedLSTM (quantized_lstm.h). Its derivative takes rounding as the
// identity: LSTMGrad of what the products saw.
#include "kernels/recurrent/quantized_lstm.h"

#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/recurrent/quantized_driver.h"
#include "kernels/recurrent/recurrent_implementation.h"
#include "kernels/recurrent/recurrent_unroll.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

using In = QuantizedLstmInput;
using Out = QuantizedLstmOutput;
using LstmIn = RecurrentInput;

void check_operands(const InferContext& context, Dim directions, Dim samples, Dim hidden) {
  const auto expect = [&](std::size_t i, std::string_view what, const Dims& needed) {
    if (!context.has_input(i)) return;
    const Dims found = dims_of_rank(context, i, needed.size(), what);
    for (std::size_t k = 0; k < needed.size(); ++k) {
      unify(found[k], needed[k], cat("extents of ", what));
    }
  };
  const auto expect_parameter = [&](std::size_t i, std::string_view what) {
    if (context.ranked(i) && context.rank(i) == 1) return expect(i, what, {directions});
    expect(i, what, {directions, multiply(4, hidden)});
  };
  const Dims state{directions, samples, hidden};
  expect(LstmIn::b, "B", {directions, multiply(8, hidden)});
  expect(LstmIn::sequence_lens, "sequence_lens", {samples});
  if (context.has_input(LstmIn::sequence_lens) &&
      context.dtype(LstmIn::sequence_lens) != DType::int32) {
    context.reject("sequence_lens must be int32");
  }
  expect(LstmIn::initial_h, "initial_h", state);
  expect(LstmIn::initial_c, "initial_c", state);
  expect(LstmIn::p, "P", {directions, multiply(3, hidden)});
  expect_parameter(In::w_scale, "the scale of W");
  expect_parameter(In::w_point, "the zero point of W");
  expect_parameter(In::r_scale, "the scale of R");
  expect_parameter(In::r_point, "the zero point of R");
}

}  // namespace

void infer_quantized_lstm(InferContext& context) {
  const Dims x = dims_of_rank(context, LstmIn::x, 3, "X");
  const Dims w = dims_of_rank(context, LstmIn::w, 3, "W");
  const Dims r = dims_of_rank(context, LstmIn::r, 3, "R");
  const Directions given(context);
  unify(w[1], x[2], "rows of W and the size of the input");
  const Dim directions = unify(w[0], r[0], "directions");
  unify(directions, given.count, "directions of W and of the attribute");
  unify(w[2], r[2], "columns of W and R");
  Dim hidden = r[1];
  if (context.has_attr("hidden_size")) {
    const std::int64_t size = context.attr_int("hidden_size", 0);
    if (size < 1) fail(ErrorCode::mismatch, "hidden_size is ", size, ", needed: 1 or more");
    hidden = unify(hidden, size, "rows of R and hidden_size");
  }
  unify(r[2], multiply(4, hidden), "columns of R and hidden_size");
  read_activations(context, lstm_activations, given.count);
  check_operands(context, directions, x[1], hidden);

  const DType dtype = context.dtype(LstmIn::x);
  const DType saved = dtype == DType::float64 ? dtype : DType::float32;
  const Dims state{directions, x[1], hidden};
  const Dims y{x[0], directions, x[1], hidden};
  const Dim rows = multiply(x[0], x[1]);
  context.set_output(0, dtype, y);
  context.set_output(1, dtype, state);
  context.set_output(2, dtype, state);
  if (context.output_count() <= Out::gates) return;
  context.set_output(Out::gates, saved, Dims{directions, rows, multiply(4, hidden)});
  context.set_output(Out::cells, saved, Dims{directions, rows, hidden});
  context.set_output(Out::rounded_x, dtype, x);
  context.set_output(Out::rounded_y, dtype, y);
  context.set_output(Out::rounded_h, dtype, state);
}

}  // namespace ondine::kernels

namespace ondine::kernels::ops {
namespace {

using In = QuantizedLstmInput;
using Out = QuantizedLstmOutput;
using LstmIn = RecurrentInput;

Kernel bind(BindContext& context) {
  const Shape r = context.shape(LstmIn::r);
  const Recurrence s =
      read_recurrence(context, lstm_traits, context.shape(LstmIn::x), {r[0], r[2], r[1]});
  const auto* gemm = math::int8_gemm_implementations(math::simd_tables()).first;
  context.set_implementation(gemm->name, gemm->isa);
  return visit_compute(context.dtype(LstmIn::x), [&]<class C>() -> Kernel {
    return [driver = std::make_shared<const QuantizedLstm<C>>(context, s)](KernelContext& call) {
      (*driver)(call);
    };
  });
}

// Whole numbers minus the zero point, [directions, rows, 4 hidden_size].
Val centred_weights(const NodeView& node, Builder& builder, std::size_t q, std::size_t point,
                    DType dtype) {
  const auto x = [&](std::size_t i) { return builder.value(node.node().inputs[i]); };
  const Val z = graph::cast(x(point), dtype);
  return graph::cast(x(q), dtype) - graph::unsqueeze(z, z.rank() == 1
                                                            ? std::vector<std::int64_t>{1, 2}
                                                            : std::vector<std::int64_t>{1});
}

// As LSTM has them: [directions, 4 hidden_size, rows].
Val weights(const NodeView& node, Builder& builder, std::size_t q, std::size_t scale,
            std::size_t point) {
  const Val s = builder.value(node.node().inputs[scale]);
  const Val spread = graph::unsqueeze(
      s, s.rank() == 1 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1});
  return graph::transpose(centred_weights(node, builder, q, point, s.dtype()) * spread, {0, 2, 1});
}

void require_ranks(const NodeView& node, Builder& builder) {
  for (const std::size_t i : {std::size_t{In::w_scale}, std::size_t{In::w_point},
                              std::size_t{In::r_scale}, std::size_t{In::r_point}}) {
    if (builder.value(node.node().inputs[i]).ranked()) continue;
    fail(ErrorCode::unsupported, "the derivative needs known ranks of scales and zero points");
  }
}

// The derivative with respect to a scale, from that with respect to the weights of LSTM.
Val scale_gradient(GradContext& g, Val dweights, std::size_t q, std::size_t scale,
                   std::size_t point) {
  const Val centred = centred_weights(g, g.builder(), q, point, dweights.dtype());
  const Val product = graph::transpose(dweights, {0, 2, 1}) * centred;
  if (g.x(scale).rank() == 2) return graph::reduce_sum(product, {1}, false);
  return graph::reduce_sum(product, {1, 2}, false);
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  require_ranks(g, b);
  std::vector<Val> operands{g.y(Out::rounded_x),
                            weights(g, b, LstmIn::w, In::w_scale, In::w_point),
                            weights(g, b, LstmIn::r, In::r_scale, In::r_point),
                            g.x(LstmIn::b),
                            g.x(LstmIn::sequence_lens),
                            g.x(LstmIn::initial_h) ? g.y(Out::rounded_h) : Val(),
                            g.x(LstmIn::initial_c),
                            g.x(LstmIn::p),
                            g.y(Out::rounded_y),
                            g.y(Out::gates),
                            g.y(Out::cells)};
  for (std::size_t i = 0; i < 3; ++i) operands.push_back(g.dy(i));
  const auto d =
      b.nodes("LSTMGrad", operands, g.node().attributes, RecurrentGradOutput::count, ondine_domain);
  std::vector<Val> result(In::count);
  const auto take = [&](std::size_t input, Val value) {
    if (g.has_input(input) && g.wants(input)) result[input] = value;
  };
  take(LstmIn::x, d[RecurrentGradOutput::dx]);
  take(LstmIn::b, d[RecurrentGradOutput::db]);
  take(LstmIn::initial_h, d[RecurrentGradOutput::dinitial_h]);
  take(LstmIn::initial_c, d[RecurrentGradOutput::dinitial_c]);
  take(LstmIn::p, d[RecurrentGradOutput::dp]);
  if (g.wants(In::w_scale)) {
    result[In::w_scale] =
        scale_gradient(g, d[RecurrentGradOutput::dw], LstmIn::w, In::w_scale, In::w_point);
  }
  if (g.wants(In::r_scale)) {
    result[In::r_scale] =
        scale_gradient(g, d[RecurrentGradOutput::dr], LstmIn::r, In::r_scale, In::r_point);
  }
  return result;
}

// x rounded to 8 bits, and as floats again. Rounding counts as the identity.
Val rounded(Val x, Val range_of) {
  Builder& b = x.builder();
  const auto parts = b.nodes("DynamicQuantizeLinear", {&range_of, 1}, {}, 3);
  const Val bytes = b.node("QuantizeLinear", {x, parts[1], parts[2]});
  const Val value = b.node("DequantizeLinear", {bytes, parts[1], parts[2]});
  return b.node("StraightThrough", {value, x, graph::full_like(x, 1)}, {}, ondine_domain);
}

// Samples whose sequence ended before the last step count as zeros, unless they are kept.
template <bool keeps>
void unrolled_step(const UnrolledCell& cell, Val gates, UnrolledState& state) {
  Val h = state.h;
  if (cell.lengths) {
    Val end = cell.lengths + 1.0;
    if (keeps) {
      const Val any = graph::greater(cell.lengths, graph::scalar_like(cell.lengths, 0));
      end = graph::where(any, cell.now + 1.0, end);
    }
    const Val counts = graph::unsqueeze(graph::less(cell.now, end), {1});
    h = graph::where(counts, h, graph::scalar_like(h, 0));
  }
  unrolled_lstm_step(cell, gates, state, rounded(h, h));
}

// The steps of X that some sequence has.
Val used_steps(Val x, Val lengths) {
  if (!lengths) return x;
  Builder& b = x.builder();
  const Val most = graph::cast(graph::reduce_max(lengths, {}, false), DType::int64);
  return b.node("Slice", {x, b.int64s({0}), graph::unsqueeze(most, {0}), b.int64s({0})});
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  require_ranks(context, b);
  const Val x = context.x(LstmIn::x);
  const Val lengths = context.x(LstmIn::sequence_lens);
  if (lengths && (Directions(context).reverse || Directions(context).count == 2)) {
    fail(ErrorCode::unsupported,
         "sequence_lens of a sequence that runs backwards has no form in standard operators");
  }
  Node lstm;
  lstm.op = b.catalogue().find("", "LSTM");
  lstm.version = Builder::latest_version;
  lstm.attributes = context.node().attributes;
  const Val operands[] = {rounded(x, used_steps(x, lengths)),
                          weights(context, b, LstmIn::w, In::w_scale, In::w_point),
                          weights(context, b, LstmIn::r, In::r_scale, In::r_point),
                          context.x(LstmIn::b),
                          lengths,
                          context.x(LstmIn::initial_h),
                          context.x(LstmIn::initial_c),
                          context.x(LstmIn::p)};
  for (const Val operand : operands) lstm.inputs.push_back(operand.id());
  ExpandContext inner(b, lstm);
  std::vector<Val> ys =
      unroll(inner, lstm_traits, keeps_ended(context) ? unrolled_step<true> : unrolled_step<false>);
  for (std::size_t i = 1; lengths && i < 3; ++i) {
    const Val any = graph::unsqueeze(graph::greater(lengths, graph::scalar_like(lengths, 0)), {1});
    ys[i] = graph::where(any, ys[i], graph::scalar_like(ys[i], 0));
  }
  return ys;
}

}  // namespace

extern const OpDef quantized_lstm{.name = "QuantizedLSTM",
                                  .domain = ondine_domain,
                                  .infer = infer_quantized_lstm,
                                  .bind = bind,
                                  .grad = grad,
                                  .expand = expand};

}  // namespace ondine::kernels::ops
