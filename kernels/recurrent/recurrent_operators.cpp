// rnn.cpp — RNN, GRU and LSTM over a sequence (equations in the standard's text; gates in the
// orders h; z r h; i o f c). Until version 7 output_sequence only said whether Y is wanted; 14
// added layout, 22 bfloat16; GRU's linear_before_reset came with 3. Forward keeps the inputs of all
// activations; the derivatives (RNNGrad, GRUGrad, LSTMGrad in ai.ondine) go back through time.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/recurrent/recurrent_attributes.h"
#include "kernels/recurrent/recurrent_forward.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t inputs = 8;

// The eight inputs; Y, Z and cells; dY, dY_h and dY_c.
std::vector<Val> grad(GradContext& g) {
  const bool lstm = gates_of(g) == 4;
  std::vector<Val> operands;
  for (std::size_t i = 0; i < inputs; ++i) operands.push_back(g.x(i));
  operands.push_back(g.y(0));
  operands.push_back(g.y(lstm ? 3 : 2));
  operands.push_back(lstm ? g.y(4) : Val());
  operands.push_back(g.dy(0));
  operands.push_back(g.dy(1));
  operands.push_back(lstm ? g.dy(2) : Val());
  if (!operands[11] && !operands[12] && !operands[13]) {
    fail(ErrorCode::unsupported, "what ", g.node().op->name,
         " keeps for its derivative is not differentiated itself");
  }
  Builder& b = g.builder();
  Node node;
  node.op = b.catalogue().find(ondine_domain, cat(g.node().op->name, "Grad"));
  node.version = Builder::latest_version;
  node.attributes = g.node().attributes;
  for (const Val operand : operands) node.inputs.push_back(operand.id());
  while (node.inputs.back() == no_value) node.inputs.pop_back();
  std::vector<Val> result(inputs);
  for (const std::size_t place : {0, 1, 2, 3, 5, 6, 7}) {
    node.outputs.push_back(no_value);
    if (!g.has_input(place) || !g.wants(place)) continue;
    node.outputs.back() = b.graph().add_temporary(std::string(node.op->name));
    result[place] = b.value(node.outputs.back());
  }
  b.append(std::move(node));
  return result;
}

void infer_grad(InferContext& context) {
  const Type& x = context.input(0);
  const auto like = [&](std::size_t output, std::size_t input, Dims otherwise) {
    if (context.has_input(input)) return context.set_output(output, context.input(input));
    context.set_output(output, x.dtype, otherwise);
  };
  const std::int64_t gates = gates_of(context);
  const Dims r = dims_of_rank(context, 2, 3, "R");
  const Dims in = dims_of_rank(context, 0, 3, "X");
  const bool batch_first = context.attr_int("layout", 0) != 0;
  const Dims state = batch_first ? Dims{in[0], r[0], r[2]} : Dims{r[0], in[1], r[2]};
  like(0, 0, {});
  like(1, 1, {});
  like(2, 2, {});
  like(3, 3, {r[0], multiply(r[2], 2 * gates)});
  like(4, 5, state);
  like(5, 6, state);
  like(6, 7, {r[0], multiply(r[2], 3)});
}

// Second order: the derivative of the derivative of the unrolled steps.
std::vector<Val> grad_of_grad(GradContext& g) {
  Builder& b = g.builder();
  Node forward;
  const std::string_view name = g.node().op->name;
  forward.op = b.catalogue().find("", name.substr(0, name.size() - 4));
  forward.version = Builder::latest_version;
  forward.attributes = g.node().attributes;
  for (std::size_t i = 0; i < inputs && i < g.input_count(); ++i) {
    forward.inputs.push_back(g.node().inputs[i]);
  }
  ExpandContext context(b, forward);
  const std::vector<Val> ys = unroll(context);
  std::vector<Val> dys;
  for (std::size_t k = 0; k < ys.size(); ++k) dys.push_back(g.x(11 + k));
  const std::size_t places[] = {0, 1, 2, 3, 5, 6, 7};
  std::vector<Val> xs;
  std::vector<Val> seeds;
  for (std::size_t k = 0; k < 7; ++k) {
    if (!g.has_input(places[k])) continue;
    xs.push_back(g.x(places[k]));
    seeds.push_back(g.dy(k));
  }
  const auto first = g.differentiate()(b, ys, dys, xs);
  std::vector<Val> outputs, weights;
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (!first[k] || !seeds[k]) continue;
    outputs.push_back(first[k]);
    weights.push_back(seeds[k]);
  }
  std::vector<std::size_t> at;
  std::vector<Val> by;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    if (i == 4 || (i >= 8 && i <= 10) || !g.has_input(i) || !g.wants(i)) continue;
    at.push_back(i);
    by.push_back(g.x(i));
  }
  const auto second = g.differentiate()(b, outputs, weights, by);
  std::vector<Val> result(g.input_count());
  for (std::size_t k = 0; k < at.size(); ++k) result[at[k]] = second[k];
  return result;
}

constexpr OpDef forward_op(std::string_view name) {
  return {.name = name, .infer = infer_recurrent, .bind = bind_recurrent, .grad = grad};
}
constexpr OpDef gradient_op(std::string_view name) {
  return {.name = name,
          .domain = ondine_domain,
          .infer = infer_grad,
          .bind = bind_recurrent_gradient,
          .grad = grad_of_grad};
}

}  // namespace

extern const OpDef rnn = forward_op("RNN");
extern const OpDef gru = forward_op("GRU");
extern const OpDef lstm = forward_op("LSTM");
extern const OpDef rnn_grad = gradient_op("RNNGrad");
extern const OpDef gru_grad = gradient_op("GRUGrad");
extern const OpDef lstm_grad = gradient_op("LSTMGrad");

}  // namespace ondine::kernels::ops
