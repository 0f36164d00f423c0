// Refusals of attention operators: messages say which of their inputs do not fit.
#include "tests/kernels/common/refusals.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

graph::Attributes heads(std::int64_t q, std::int64_t kv) {
  return {number("q_num_heads", q), number("kv_num_heads", kv)};
}

graph::Attributes rule(const std::string& name) {
  graph::Attributes attributes = heads(2, 1);
  attributes.push_back(word("update_rule", name));
  return attributes;
}

// Four heads of queries share two of keys and values.
struct Operands {
  Value q = f32({2, 4, 3, 8});
  Value k = f32({2, 2, 5, 8});
  Value v = f32({2, 2, 5, 6});
};

// call(inputs) makes the case of an operator of attention.
template <class Call>
void check_mismatched_operands(const Call& call) {
  const auto [q, k, v] = Operands();
  CHECK_NOTHROW(run_op(call({q, k, v})));
  check_refusals({
      {call({q, f32({3, 2, 5, 8}), v}), "batches differ: 2 and 3"},
      {call({q, k, f32({1, 2, 5, 6})}), "batches differ: 2 and 1"},
      {call({q, f32({2, 2, 5, 7}), v}), "head sizes of Q and K differ: 8 and 7"},
      {call({q, k, f32({2, 4, 5, 6})}), "heads of K and V differ: 2 and 4"},
      {call({q, k, f32({2, 2, 4, 6})}), "sequence lengths of K and V differ: 5 and 4"},
      {call({q, f32({2, 3, 5, 8}), f32({2, 3, 5, 6})}),
       "4 heads of Q are not a multiple of 3 heads of K"},
  });
}

}  // namespace

TEST_CASE("Attention refuses queries, keys, values and pasts that do not belong together") {
  const auto [q, k, v] = Operands();
  const Value none;
  const Value past_k = f32({2, 2, 1, 8});
  const Value past_v = f32({2, 2, 1, 6});
  const auto call = [](const std::vector<Value>& inputs, const graph::Attributes& attributes = {}) {
    return OpCase{.op = "Attention", .inputs = inputs, .attributes = attributes, .outputs = 1};
  };
  check_mismatched_operands([&](const std::vector<Value>& inputs) { return call(inputs); });
  OpCase with_past = call({q, k, v, none, past_k, past_v});
  with_past.outputs = 3;
  CHECK_NOTHROW(run_op(with_past));
  check_refusals({
      {call({q, k, v, none, past_k}), "past_key and past_value must be given together"},
      {call({q, k, v, none, none, past_v}), "past_key and past_value must be given together"},
      {call({q, k, v, none, past_k, past_v, i64({2})}),
       "nonpad_kv_seqlen and past_key exclude each other"},
      {call({q, k, v}, {number("qk_matmul_output_mode", 4)}), "qk_matmul_output_mode is 4"},
      {call({q, k, v}, {number("qk_matmul_output_mode", -1)}), "qk_matmul_output_mode is -1"},
      {call({q, k, v}, {number("left_window_size", -2)}), "left_window_size is below -1"},
      {call({q, k, v}, {number("right_window_size", -2)}), "right_window_size is below -1"},
      {call({q, f32({2, 5, 16}), v}), "Q, K and V differ in rank"},
      {call({f32({3, 8}), f32({5, 8}), f32({5, 8})}), "Q, K and V must have rank 3 or 4, found 2"},
      {call({q, k, v, none, f32({2, 1, 1, 8}), past_v}), "heads of the past differ: 1 and 2"},
      {call({q, k, v, none, past_k, f32({2, 2, 1, 8})}), "head sizes of the past differ: 8 and 6"},
      {call({q, k, v, none, f32({2, 1, 8}), past_v}), "past_key must have rank 4, found "},
      {call({f32({2, 3, 9}), f32({2, 5, 8}), f32({2, 5, 8})}, heads(2, 2)),
       "hidden size 9 is not a multiple of 2 heads"},
      {call({f32({2, 3, 8}), f32({2, 5, 8}), f32({2, 5, 8})}, {number("kv_num_heads", 2)}),
       "q_num_heads is 0, inputs of rank 3 need it"},
      {call({f32({2, 3, 8}), f32({2, 5, 8}), f32({2, 5, 8})}, heads(2, 0)),
       "kv_num_heads is 0, inputs of rank 3 need it"},
  });
}

TEST_CASE("FlexAttention refuses queries, keys and values that do not belong together") {
  const auto [q, k, v] = Operands();
  const auto call = [](const std::vector<Value>& inputs) {
    return OpCase{.op = "FlexAttention", .inputs = inputs, .domain = "ai.onnx.preview"};
  };
  check_mismatched_operands(call);
  check_refusals({
      {call({q, f64({2, 2, 5, 8}), v}), "inputs 0 and 1 differ in dtype: float and double"},
      {call({q, k, f64({2, 2, 5, 6})}), "inputs 0 and 2 differ in dtype: float and double"},
      {call({f32({4, 3, 8}), k, v}), "Q must have rank 4, found "},
      {call({q, f32({2, 5, 8}), v}), "K must have rank 4, found "},
      {call({q, k, f32({2, 5, 6})}), "V must have rank 4, found "},
  });
}

TEST_CASE("LinearAttention refuses inputs that its rule does not have or that do not fit") {
  const Value q = f32({2, 3, 8});
  const Value k = f32({2, 3, 4});
  const Value v = f32({2, 3, 5});
  const Value one = f32({2, 3, 1});
  const Value none;
  const auto call = [](const std::vector<Value>& inputs, const graph::Attributes& attributes) {
    return OpCase{
        .op = "LinearAttention", .inputs = inputs, .attributes = attributes, .outputs = 2};
  };
  CHECK_NOTHROW(run_op(call({q, k, v}, rule("linear"))));
  CHECK_NOTHROW(run_op(call({q, k, v, none, one, one}, rule("gated_delta"))));
  check_refusals({
      {call({q, f64({2, 3, 4}), v}, rule("linear")), "inputs 0 and 1 differ in dtype"},
      {call({q, k, v, none, f64({2, 3, 1})}, rule("gated")), "inputs 0 and 4 differ in dtype"},
      {call({q, k, v, none, one}, rule("linear")),
       "decay is an input of the update rules \"gated\" and \"gated_delta\" only"},
      {call({q, k, v}, rule("gated")), "decay is an input of the update rules"},
      {call({q, k, v, none, none, one}, rule("linear")),
       "beta is an input of the update rules \"delta\" and \"gated_delta\" only"},
      {call({q, k, v}, rule("delta")), "beta is an input of the update rules"},
      {call({q, k, v}, rule("squared")), "unknown update_rule 'squared'"},
      {call({q, k, v}, heads(3, 2)), "q_num_heads is 3, kv_num_heads 2"},
      {call({q, k, v}, heads(0, 1)), "q_num_heads is 0, kv_num_heads 1"},
      {call({q, k, v}, heads(1, 0)), "q_num_heads is 1, kv_num_heads 0"},
      {call({q, f32({1, 3, 4}), v}, rule("linear")), "batches differ: 2 and 1"},
      {call({q, k, f32({1, 3, 5})}, rule("linear")), "batches differ: 2 and 1"},
      {call({q, f32({2, 4, 4}), v}, rule("linear")), "sequence lengths differ: 3 and 4"},
      {call({q, k, f32({2, 4, 5})}, rule("linear")), "sequence lengths differ: 3 and 4"},
      {call({q, f32({2, 3, 3}), v}, rule("linear")), "head sizes of query and key differ: 4 and 3"},
      {call({f32({2, 3, 7}), k, v}, rule("linear")),
       "hidden size 7 of the query is not a multiple of 2 heads"},
      {call({q, k, v, none, f32({1, 3, 1})}, rule("gated")), "batches differ: 1 and 2"},
      {call({q, k, v, none, f32({2, 2, 1})}, rule("gated")), "sequence lengths differ: 2 and 3"},
      {call({q, k, v, none, f32({2, 3, 2})}, rule("gated")), "decay has hidden size 2"},
      {call({q, k, v, none, none, f32({2, 3, 4})}, rule("delta")), "beta has hidden size 4"},
  });
}

TEST_CASE("RotaryEmbedding refuses heads that do not divide its input") {
  const Value x = f32({1, 3, 8});
  const Value angles = f32({1, 3, 2});
  const auto call = [](const std::vector<Value>& inputs, const graph::Attributes& attributes = {}) {
    return OpCase{.op = "RotaryEmbedding", .inputs = inputs, .attributes = attributes};
  };
  CHECK_NOTHROW(run_op(call({x, angles, angles}, {number("num_heads", 2)})));
  check_refusals({
      {call({x, f64({1, 3, 2}), angles}, {number("num_heads", 2)}),
       "inputs 0 and 1 differ in dtype"},
      {call({x, angles, f64({1, 3, 2})}, {number("num_heads", 2)}),
       "inputs 0 and 2 differ in dtype"},
      {call({f32({3, 8}), angles, angles}), "X must have rank 3 or 4, found [3, 8]"},
      {call({x, angles, angles}), "num_heads is 0, needed: 1 or more for X of rank 3"},
      {call({x, angles, angles}, {number("num_heads", 3)}),
       "hidden size 8 is not a multiple of 3 heads"},
      {call({x, angles, angles}, {number("num_heads", 2), number("rotary_embedding_dim", 3)}),
       "rotary_embedding_dim is 3"},
      {call({x, angles, angles}, {number("num_heads", 2), number("rotary_embedding_dim", -2)}),
       "rotary_embedding_dim is -2"},
      {call({x, f32({3, 2}), f32({3, 2})}, {number("num_heads", 2)}),
       "cos_cache must have rank 3, found [3, 2]"},
      {call({x, angles, f32({3, 2})}, {number("num_heads", 2)}),
       "sin_cache must have rank 3, found [3, 2]"},
  });
}
