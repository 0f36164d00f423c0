// linear_attention.cpp — a state S [d_k, d_v] for each head of keys, updated step by step:
//   S <- exp(g) S (gated rules), S <- S + k (x) v', v' = v or, in delta rules, beta (v - S^T k),
//   o = scale q^T S.
// All heads of q that use the same head of k and v read the same state. Computed in float, or
// double. An expansion into Scan, from which the derivative follows; chunk_size, a hint, is
// ignored.
#include <cmath>

#include "graph/contract/subgraph_builder.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { q_in, k_in, v_in, past_in, decay_in, beta_in };

struct Rule {
  bool gated, delta;
  std::int64_t q_heads, kv_heads;

  explicit Rule(const NodeView& node)
      : q_heads(node.attr_int("q_num_heads", 0)), kv_heads(node.attr_int("kv_num_heads", 0)) {
    const std::string name = node.attr_string("update_rule", "gated_delta");
    gated = name == "gated" || name == "gated_delta";
    delta = name == "delta" || name == "gated_delta";
    if (!gated && !delta && name != "linear") {
      fail(ErrorCode::invalid_model, "unknown update_rule ", ondine::quoted(name));
    }
    if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads != 0) {
      fail(ErrorCode::mismatch, "q_num_heads is ", q_heads, ", kv_num_heads ", kv_heads,
           "; needed: a multiple of kv_num_heads");
    }
  }
};

Dim share(Dim hidden, std::int64_t heads, std::string_view what) {
  if (!hidden.known()) return {};
  if (hidden.size() % heads != 0) {
    fail(ErrorCode::mismatch, "hidden size ", hidden.size(), " of ", what, " is not a multiple of ",
         heads, " heads");
  }
  return hidden.size() / heads;
}

void infer(InferContext& context) {
  const Rule rule(context);
  require_same_dtype(context, {q_in, k_in, v_in, decay_in, beta_in});
  if (context.has_input(decay_in) != rule.gated) {
    context.reject("decay is an input of the update rules \"gated\" and \"gated_delta\" only");
  }
  if (context.has_input(beta_in) != rule.delta) {
    context.reject("beta is an input of the update rules \"delta\" and \"gated_delta\" only");
  }
  const Dims q = dims_of_rank(context, q_in, 3, "the query");
  const Dims k = dims_of_rank(context, k_in, 3, "the key");
  const Dims v = dims_of_rank(context, v_in, 3, "the value");
  const Dim batch = unify(unify(q[0], k[0], "batches"), v[0], "batches");
  const Dim length = unify(unify(q[1], k[1], "sequence lengths"), v[1], "sequence lengths");
  const Dim d_k = unify(share(q[2], rule.q_heads, "the query"),
                        share(k[2], rule.kv_heads, "the key"), "head sizes of query and key");
  const Dim d_v = share(v[2], rule.kv_heads, "the value");
  const auto along = [&](std::size_t i, std::string_view what, std::int64_t one) {
    if (!context.has_input(i)) return;
    const Dims x = dims_of_rank(context, i, 3, what);
    unify(x[0], batch, "batches");
    unify(x[1], length, "sequence lengths");
    const bool fits = !x[2].known() || x[2].size() == one || x[2].size() == rule.kv_heads ||
                      (i == decay_in && d_k.same(share(x[2], rule.kv_heads, what)));
    if (!fits) context.reject(what, " has hidden size ", x[2].size());
  };
  along(decay_in, "decay", rule.kv_heads);
  along(beta_in, "beta", 1);
  Dims state{batch, rule.kv_heads, d_k, d_v};
  DType state_dtype = context.dtype(q_in);
  if (context.has_input(past_in)) {
    state_dtype = context.dtype(past_in);
    const Dims past = dims_of_rank(context, past_in, 4, "the past state");
    for (std::size_t i = 0; i < 4; ++i) state[i] = unify(state[i], past[i], "dims of the state");
  }
  context.set_output(0, context.dtype(q_in), Dims{batch, length, multiply(d_v, rule.q_heads)});
  context.set_output(1, state_dtype, state);
}

// x [batch, sequence_length, heads head_size] as [batch, sequence_length, heads..., head_size].
Val split(Val x, std::vector<std::int64_t> heads, DType compute) {
  Builder& b = x.builder();
  std::int64_t count = 1;
  for (const std::int64_t h : heads) count *= h;
  const Val head_size = graph::dim_of(x, 2) / b.int64s({count});
  const Val shape[] = {graph::dim_of(x, 0), graph::dim_of(x, 1), b.int64s(std::move(heads)),
                       head_size};
  return graph::reshape(graph::cast(x, compute), graph::concat(shape, 0));
}

// The type of a scanned value within one step.
Type step_type(Val x) {
  Type type = x.type();
  if (type.dims) type.dims->erase(type.dims->begin() + 1);
  return type;
}

// One step of the recurrence as the body of a Scan over state and `scanned` (q, k, v, decay, beta).
Subgraph step_body(Builder& b, const Rule& rule, Val state, std::span<const Val> scanned) {
  SubgraphBuilder body(b);
  Val s = body.add_formal("state", state.type());
  std::vector<Val> now;
  for (const Val x : scanned) now.push_back(body.add_formal("step", step_type(x)));
  const Val q = now[0];
  const Val k = now[1];
  Val v = now[2];
  if (rule.gated) s = s * graph::unsqueeze(unary("Exp", now[3]), {3});
  if (rule.delta) {
    const Val recalled = graph::squeeze(graph::matmul(graph::unsqueeze(k, {2}), s), {2});
    v = now.back() * (v - recalled);
  }
  s = s + graph::unsqueeze(k, {3}) * graph::unsqueeze(v, {2});
  const Val outputs[] = {s, graph::matmul(q, s)};
  return body.finish("body", outputs);
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Rule rule(context);
  const DType dtype = context.x(q_in).dtype();
  const DType compute = dtype == DType::float64 ? dtype : DType::float32;
  const std::int64_t group = rule.q_heads / rule.kv_heads;
  const std::int64_t heads = rule.kv_heads;
  const Val q = context.x(q_in);
  const auto input = [&](std::size_t i) {
    return with_dims_of(context.x(i), {0, 1}, q, {0, 1}, "batches or sequence lengths");
  };
  std::vector<Val> scanned{split(q, {heads, group}, compute), split(input(k_in), {heads}, compute),
                           split(input(v_in), {heads}, compute)};
  if (rule.gated) scanned.push_back(split(input(decay_in), {heads}, compute));
  if (rule.delta) {
    // [batch, sequence_length, heads or 1, 1]
    scanned.push_back(graph::unsqueeze(graph::cast(input(beta_in), compute), {3}));
  }
  Val state;
  if (context.x(past_in)) {
    const std::string what = "dims of the state";
    state =
        with_dims_of(graph::cast(context.x(past_in), compute), {0, 2}, scanned[1], {0, 3}, what);
    state = with_dim(with_dims_of(state, {3}, scanned[2], {3}, what), 1, heads, what);
  } else {
    const Val shape[] = {graph::dim_of(scanned[1], 0), b.int64s({heads}),
                         graph::dim_of(scanned[1], 3), graph::dim_of(scanned[2], 3)};
    state = graph::expand(b.scalar(0, compute), graph::concat(shape, 0));
  }

  std::vector<Subgraph> subgraphs;
  subgraphs.push_back(step_body(b, rule, state, scanned));
  std::vector<Val> inputs{state};
  inputs.insert(inputs.end(), scanned.begin(), scanned.end());
  const auto count = static_cast<std::int64_t>(scanned.size());
  const auto results =
      control_node(b, "Scan", inputs, std::move(subgraphs), 2,
                   {{"num_scan_inputs", count},
                    {"scan_input_axes", std::vector<std::int64_t>(scanned.size(), 1)},
                    {"scan_output_axes", std::vector<std::int64_t>{1}}});

  // From [batch, sequence_length, heads, group, d_v]. A loop without steps knows no dims.
  const Val hidden = graph::dim_of(scanned[2], 3) * b.int64s({rule.q_heads});
  const Val shape[] = {graph::dim_of(scanned[0], 0), graph::dim_of(scanned[0], 1), hidden};
  Val y = graph::reshape(results[1], graph::concat(shape, 0));
  if (const double scale = context.attr_float("scale", 0); scale != 0) {
    y = y * scale;
  } else {
    y = y * graph::pow(graph::cast(graph::dim_of(scanned[1], 3), compute), -0.5);
  }
  const DType state_dtype = context.x(past_in) ? context.x(past_in).dtype() : dtype;
  return {graph::cast(y, dtype), graph::cast(results[0], state_dtype)};
}

}  // namespace

extern const OpDef linear_attention{.name = "LinearAttention", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
