// Operators of com.microsoft refuse operands whose sizes do not belong together, and values of
// attributes that they do not have.
#include <limits>

#include "tests/kernels/common/refusals.h"

#include "tests/kernels/contrib/waves.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

Value u8(const Shape& shape) { return Tensor(DType::uint8, shape); }
Value one() { return Tensor::scalar(0.5F); }
Value zero() { return Tensor::scalar(std::uint8_t{2}); }
const Value none;
// Three times as much is no size.
constexpr std::int64_t large = std::int64_t{1} << 62;

OpCase call(const std::string& op, const std::vector<Value>& inputs,
            const graph::Attributes& attributes = {}, std::size_t outputs = 1) {
  return {op, inputs, attributes, outputs, contrib};
}

}  // namespace

TEST_CASE("Attention and QAttention refuse weights, biases and pasts of other sizes") {
  const Value x = f32({2, 3, 4});
  const Value w = f32({4, 12});
  const Value bias = f32({12});
  const graph::Attributes two{number("num_heads", 2)};
  const auto attention = [&](const std::vector<Value>& inputs, graph::Attributes more = {}) {
    more.push_back(number("num_heads", 2));
    return call("Attention", inputs, more);
  };
  const auto past = [&](const Shape& shape) { return attention({x, w, bias, none, f32(shape)}); };
  const auto mask = [&](const Shape& shape) { return attention({x, w, bias, i32(shape)}); };
  const auto quantized = [&](const Shape& weights, const Shape& columns) {
    return call("QAttention", {u8({2, 3, 4}), u8(weights), f32(columns), one(), one()}, two);
  };
  check_refusals({
      {attention({x, f32({5, 12}), bias}), "inner dimensions of input and weights differ: 4 and 5"},
      {attention({x, w, f32({11})}), "columns of weights and bias differ: 12 and 11"},
      {attention({x, w, bias}, {list("qkv_hidden_sizes", {6, 6})}),
       "qkv_hidden_sizes must be three sizes, those of Q and K the same"},
      {attention({x, w, bias}, {list("qkv_hidden_sizes", {4, 2, 6})}),
       "qkv_hidden_sizes must be three sizes, those of Q and K the same"},
      {attention({x, w, bias}, {list("qkv_hidden_sizes", {10, 10, -8})}),
       "qkv_hidden_sizes must be three sizes, those of Q and K the same"},
      {attention({x, w, bias}, {list("qkv_hidden_sizes", {large, large, large})}), "overflows"},
      {attention({x, w, bias}, {list("qkv_hidden_sizes", {4, 4, 2})}),
       "columns of weights and qkv_hidden_sizes differ: 12 and 10"},
      {attention({x, f32({4, 11}), f32({11})}), "11 columns are not 3 parts"},
      {call("Attention", {x, w, bias}, {number("num_heads", 3)}),
       "hidden size 4 is not a multiple of 3 heads"},
      {call("Attention", {x, w, bias}), "num_heads is 0, needed: 1 or more"},
      {attention({x, w, bias}, {number("past_present_share_buffer", 1)}),
       "past_present_share_buffer is 1, only 0 is supported"},
      {past({3, 2, 2, 1, 2}), "the first dim of past differ: 3 and 2"},
      {past({2, 1, 2, 1, 2}), "batches differ: 1 and 2"},
      {past({2, 2, 1, 1, 2}), "heads of the past differ: 1 and 2"},
      {mask({1}), "[1]"},
      {mask({3}), "[3]"},
      {mask({6}), "the 2 that it may have differ: 3 and 2"},
      {mask({2, 4}), "keys of the padding mask and all keys differ: 4 and 3"},
      {mask({2, 3, 2}), "keys of the padding mask and all keys differ: 2 and 3"},
      {mask({3, 3}), "the mask is [3, 1, 1, 3]"},
      {quantized({5, 12}, {12}), "inner dimensions of input and weights differ: 4 and 5"},
      {quantized({4, 12}, {11}), "columns and bias differ: 12 and 11"},
      {quantized({4, 11}, {11}), "11 columns are not 3 parts"},
  });
}

TEST_CASE("GroupQueryAttention refuses inputs without their partners and other sizes") {
  const Value q = f32({2, 3, 8});
  const Value k = f32({2, 3, 4});
  const Value lengths = i32({2});
  const Value total = Tensor::of<std::int32_t>({1}, {3});
  const auto attention = [&](std::vector<Value> inputs, graph::Attributes more = {}) {
    inputs.resize(std::max<std::size_t>(inputs.size(), 7));
    inputs[5] = lengths;
    inputs[6] = total;
    more.push_back(number("num_heads", 4));
    more.push_back(number("kv_num_heads", 2));
    return call("GroupQueryAttention", inputs, more, 3);
  };
  const Value cache = f32({3, 1});
  check_refusals({
      {attention({q, k}), "key and value must be given together"},
      {attention({q, none, k}), "key and value must be given together"},
      {attention({q, k, k, f32({2, 2, 1, 2})}), "past_key and past_value must be given together"},
      {attention({q, k, k, none, none, none, none, cache}),
       "cos_cache and sin_cache must be given together"},
      {attention({q, k, k}, {number("do_rotary", 1)}), "do_rotary needs cos_cache and sin_cache"},
      {attention({q, k, k}, {number("qk_output", 1)}), "qk_output is 1, only 0 is supported"},
      {attention({q, k, k}, {number("sliding_window_cache", 1)}),
       "sliding_window_cache is 1, only 0 is supported"},
      {attention({q, k, k}, {word("k_quant_type", "PER_TENSOR")}),
       "a quantized cache is not supported"},
      {attention({f32({2, 3, 9}), k, k}), "hidden size 9 is not a multiple of 4 heads"},
      {attention({f32({2, 3, 12})}), "hidden size 12 is not a multiple of 8 heads"},
      {attention({q, f32({1, 3, 4}), f32({1, 3, 4})}), "batches differ: 1 and 2"},
      {attention({q, f32({2, 4, 4}), f32({2, 4, 4})}),
       "sequence lengths of query and key differ: 4 and 3"},
      {attention({q, f32({2, 3, 6}), f32({2, 3, 6})}), "hidden sizes of the keys differ: 6 and 4"},
      {call("GroupQueryAttention", {q, k, k, none, none, lengths, total},
            {number("num_heads", 3), number("kv_num_heads", 2)}),
       "3 query heads are not a multiple of 2 heads of keys"},
      {call("GroupQueryAttention", {q, none, none, none, none, lengths, total},
            {number("num_heads", large), number("kv_num_heads", large)}),
       "overflows"},
  });
}

TEST_CASE("MultiHeadAttention and RotaryEmbedding refuse heads and ranks that do not fit") {
  const Value q = f32({2, 3, 8});
  const auto attention = [&](const std::vector<Value>& inputs, std::int64_t heads) {
    return call("MultiHeadAttention", inputs, {number("num_heads", heads)});
  };
  const Value angles = f32({3, 2});
  check_refusals({
      {attention({q, q, q}, 3), "hidden size 8 is not a multiple of 3 heads"},
      {attention({q, q, f32({2, 3, 1}), f32({18})}, 2),
       "hidden size 1 is not a multiple of 2 heads"},
      {attention({q, q, f32({2, 3, 2}), f32({17})}, 2),
       "hidden sizes of the bias and the projection differ: 1 and 2"},
      {attention({q, q, q, none, none, none, f32({2, 2, 1, 4})}, 2),
       "past_key and past_value must be given together"},
      {attention({q, q, f64({2, 3, 8})}, 2), "inputs 0 and 2 differ in dtype: float and double"},
      {call("RotaryEmbedding", {f32({2, 4}), i64({1}), angles, angles}),
       "the input must have rank 3 or 4, found 2"},
      {call("RotaryEmbedding", {f32({1, 2, 3, 4}), i64({1, 1, 3}), angles, angles}),
       "position_ids must have rank 1 or 2, found 3"},
      {call("RotaryEmbedding", {f32({1, 2, 3, 4}), i64({1, 3}), angles, angles},
            {number("is_packed_batching", 1)}),
       "is_packed_batching is 1, only 0 is supported"},
      {call("RotaryEmbedding", {f32({1, 2, 3, 4}), i64({1, 3}), f32({2}), angles}),
       "cos_cache must have rank 2"},
  });
}

TEST_CASE("products and convolutions of com.microsoft refuse operands of other sizes") {
  const auto lstm = [](const Shape& w, const Shape& r, const graph::Attributes& attributes = {}) {
    return call("DynamicQuantizeLSTM",
                {f32({2, 1, 3}), u8(w), u8(r), none, none, none, none, none, f32({1}), u8({1}),
                 f32({1}), u8({1})},
                attributes);
  };
  const Value four_bits = u8({2, 1, 8});
  const graph::Attributes bits{number("N", 2), number("K", 16), number("block_size", 16)};
  graph::Attributes packed = bits;
  packed.push_back(number("weight_prepacked", 1));
  const graph::Attributes blocks{number("N", 2), number("K", 16),
                                 number("block_size", std::numeric_limits<std::int64_t>::max())};
  check_refusals({
      {lstm({1, 4, 8}, {1, 2, 8}), "rows of W and the size of the input differ: 4 and 3"},
      {lstm({2, 3, 8}, {1, 2, 8}), "directions differ: 2 and 1"},
      {lstm({1, 3, 4}, {1, 2, 8}), "columns of W and R differ: 4 and 8"},
      {call("DynamicQuantizeLSTM", {f32({2, 1, 3}), u8({1, 3, 1}), u8({1, 2, 8}), none, none, none,
                                    none, none, f32({1, 8}), u8({1, 8}), f32({1}), u8({1})}),
       "columns of W and R differ: 1 and 8"},
      {lstm({1, 3, 8}, {1, 2, 8}, {number("hidden_size", 3)}),
       "rows of R and hidden_size differ: 2 and 3"},
      {lstm({1, 3, 12}, {1, 2, 12}), "columns of R and hidden_size differ: 12 and 8"},
      {call("DynamicQuantizeMatMul", {f32({3, 4}), u8({4, 2}), one(), zero(), f32({3})}), "bias"},
      {call("MatMulIntegerToFloat",
            {u8({3, 4}), u8({4, 2}), one(), one(), zero(), zero(), f32({3})}),
       "bias"},
      {call("FusedGemm", {f32({3, 4}), f32({5, 2})}), "inner dimensions differ: 4 and 5"},
      {call("FusedGemm", {f32({3, 4}), f32({5, 2})}, {number("transA", 1)}),
       "inner dimensions differ: 3 and 5"},
      {call("FusedGemm", {f32({3, 4}), f32({4, 2}), f32({3})}), "C "},
      {call("QGemm", {u8({3, 4}), one(), zero(), u8({5, 2}), one(), zero()}),
       "inner dimensions differ: 4 and 5"},
      {call("QGemm", {u8({3, 4}), one(), zero(), u8({4, 2}), one(), zero(), f32({2})}),
       "C is float, needed: int32"},
      {call("MatMulNBits", {f32({1, 15}), four_bits, f32({2, 1})}, bits),
       "the last dim of A and K differ: 15 and 16"},
      {call("MatMulNBits", {f32({1, 16}), four_bits, f32({2})}, blocks), "more than 2^56"},
      {call("MatMulNBits", {f32({1, 16}), four_bits, f32({2, 1})}, packed),
       "weight_prepacked is 1, only 0 is supported"},
      {call("NhwcConv", {f32({1, 5, 5, 2}), f32({3, 2, 3, 3}), f32({4})}),
       "numbers of output channels of B and W differ: 4 and 3"},
      {call("NhwcConv", {f32({5, 2}), f32({3, 2, 3, 3})}), "X must have rank 3 or more, found 2"},
  });
}

TEST_CASE("other operators of com.microsoft refuse operands of other sizes") {
  const Value x = f32({1, 2, 4, 4});
  const Value two = Tensor::of<std::int32_t>({2}, {2, 2});
  const Value row = f32({4});
  check_refusals({
      {call("CropAndResize", {x, f32({1, 5}), i32({1}), two}), "columns of rois differ: 5 and 4"},
      {call("CropAndResize", {x, f32({1, 4}), i32({2}), two}), "regions differ: 1 and 2"},
      {call("CropAndResize", {x, f32({1, 4}), i32({1}), Tensor::of<std::int32_t>({3}, {2, 2, 2})}),
       "elements of crop_size differ: 3 and 2"},
      {call("CropAndResize", {x, f32({1, 4}), i32({1}), Tensor::of<std::int32_t>({2}, {2, 0})}),
       "crop_size must be positive", true},
      {call("EmbedLayerNormalization",
            {i32({2, 3}), i32({2, 3}), f32({5, 4}), f32({3, 4}), none, row, row}),
       "segment_ids and segment_embedding must be given together"},
      {call("EmbedLayerNormalization",
            {i32({2, 3}), none, f32({5, 4}), f32({3, 5}), none, row, row}),
       "hidden sizes differ: 4 and 5"},
      {call("EmbedLayerNormalization",
            {i32({2, 3}), none, f32({5, 4}), f32({3, 4}), none, row, f32({3})}),
       "hidden sizes differ: 4 and 3"},
      {call("QLinearConcat", {one(), zero(), u8({2}), one()}), ""},
      {call("QLinearConcat", {one(), zero(), u8({2}), one(), zero(), u8({2})}),
       "has 6 inputs, needed: 2 and 3 for each operand"},
      {call("QLinearConcat", {one(), one(), u8({2}), one(), zero()}),
       "input 1 is float, needed: int8 or uint8"},
      {call("QLinearConcat", {zero(), zero(), u8({2}), one(), zero()}),
       "input 0 is uint8, needed: float"},
      {call("QLinearConcat", {one(), zero(), i32({2}), one(), zero()}),
       "input 2 is int32, needed: int8 or uint8"},
      {call("SkipLayerNormalization", {f32({2, 3, 4}), f32({2, 2, 4}), row}), "skip"},
      {call("SkipLayerNormalization", {f32({2, 3, 4}), f32({2, 3, 4}), f32({3})}), "a vector"},
      {call("Trilu", {f32({3})}), "X must have rank 2 or more, found 1"},
  });
}
