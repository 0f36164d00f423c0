// The values come from onnxruntime 1.31.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr Closeness tolerance{2e-5, 2e-6};

Tensor ints(const Shape& shape, std::vector<std::int32_t> values) {
  return Tensor::of<std::int32_t>(shape, values);
}

// Elements 0, 8, 16, ...
Tensor every_eighth(const Tensor& x) {
  std::vector<float> values;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); i += 8) {
    values.push_back(x.values<float>()[i]);
  }
  return Tensor::of<float>({x.size() / 8}, values);
}

const graph::Attributes two_heads{{"num_heads", 2L}};

}  // namespace

TEST_CASE("Attention of com.microsoft with masks and a past") {
  const Tensor x = wave({1, 3, 2}, 0);
  const Tensor w = wave({2, 12}, 1);
  const Tensor b = wave({12}, 2);
  const graph::Attributes causal{{"num_heads", 2L}, {"unidirectional", 1L}};
  check_close(run_op_tensor({"Attention", {x, w, b, ints({1, 3}, {1, 0, 1})}, causal, 1, contrib}),
              Tensor::of<float>({1, 3, 4}, {1.386847F, 0.9073019F, 0.001038879F, -0.9057127F,
                                            1.386847F, 0.9073019F, 0.001038879F, -0.9057127F,
                                            1.159287F, 1.023441F, 0.5163102F, -0.2651923F}),
              tolerance);
  // Keys 1 and 2: one end, one beginning.
  check_close(run_op_tensor({"Attention", {x, w, b, ints({2}, {3, 1})}, two_heads, 1, contrib}),
              Tensor::of<float>({1, 3, 4}, {1.207355F, 1.390309F, 0.9376557F, 0.1224605F, 1.076968F,
                                            1.316337F, 0.9365488F, 0.1160162F, 1.138882F, 1.351463F,
                                            0.9093728F, -0.04221248F}),
              tolerance);
  const Tensor past = wave({2, 1, 2, 1, 2}, 3);
  const auto got = run_op({"Attention", {x, w, b, Value(), past}, causal, 2, contrib});
  check_close(got[0].tensor(),
              Tensor::of<float>({1, 3, 4}, {0.07267503F, 0.4159862F, 0.7554982F, 0.9072213F,
                                            -0.09857395F, 0.3771596F, 0.7536052F, 0.7773684F,
                                            0.2226896F, 0.5804138F, 0.6727553F, 0.1202362F}),
              tolerance);
  REQUIRE(got[1].tensor().shape() == Shape{2, 1, 2, 4, 2});
  // The first key of the second head is that of the past.
  CHECK(got[1].tensor().values<float>()[8] == past.values<float>()[2]);
}

TEST_CASE("the ends that a mask of Attention gives count keys of the past too") {
  const Tensor x = wave({1, 3, 2}, 0);
  const Tensor w = wave({2, 12}, 1);
  const Tensor b = wave({12}, 2);
  const Tensor past = wave({2, 1, 2, 2, 2}, 3);
  const auto y = [&](const Value& mask) {
    return run_op({"Attention", {x, w, b, mask, past}, two_heads, 2, contrib})[0].tensor();
  };
  check_close(y(ints({1}, {4})), y(ints({1, 5}, {1, 1, 1, 1, 0})), tolerance);
  check_close(y(ints({1}, {1})), y(ints({1, 5}, {1, 0, 0, 0, 0})), tolerance);
}

TEST_CASE("a mask of Attention of two axes is one row for each sequence of the batch") {
  const Tensor x = wave({2, 2, 2}, 0);
  const Tensor w = wave({2, 12}, 1);
  const Tensor b = wave({12}, 2);
  const auto y = [&](const Value& mask) {
    return run_op_tensor({"Attention", {x, w, b, mask}, two_heads, 1, contrib});
  };
  check_close(y(ints({2, 2}, {1, 0, 1, 1})), y(ints({2, 2, 2}, {1, 0, 1, 0, 1, 1, 1, 1})),
              tolerance);
}

TEST_CASE("MultiHeadAttention with a bias and masks") {
  const Tensor q = wave({1, 2, 4}, 0);
  const Tensor k = wave({1, 3, 4}, 1);
  const Tensor v = wave({1, 3, 2}, 2);
  check_close(
      run_op_tensor(
          {"MultiHeadAttention", {q, k, v, wave({10}, 3), ints({1}, {2})}, two_heads, 1, contrib}),
      Tensor::of<float>({1, 2, 2}, {1.14921F, -0.06510267F, 0.8558874F, -0.6052903F}), tolerance);
  check_close(run_op_tensor({"MultiHeadAttention",
                             {q, k, v, Value(), ints({1, 3}, {1, 0, 1})},
                             {{"num_heads", 2L}, {"mask_filter_value", -2.0F}, {"scale", 0.3F}},
                             1,
                             contrib}),
              Tensor::of<float>({1, 2, 2}, {-0.04051269F, -0.2302503F, -0.04088436F, -0.1512037F}),
              tolerance);
}

TEST_CASE("MultiHeadAttention takes packed and split operands") {
  const Tensor q = random_tensor({2, 3, 4}, 1);
  const Tensor k = random_tensor({2, 3, 4}, 2);
  const Tensor v = random_tensor({2, 3, 4}, 3);
  const auto run = [](std::vector<Value> inputs, std::size_t outputs = 1) {
    return run_op({"MultiHeadAttention", std::move(inputs), two_heads, outputs, contrib});
  };
  const auto plain = run({q, k, v}, 3);
  check_close(plain[0].tensor(),
              run_op_tensor({"Attention", {q, k, v}, {{"q_num_heads", 2L}, {"kv_num_heads", 2L}}}));
  const auto split = [](const Tensor& x) { return x.reshaped({2, 3, 2, 1, 2}); };
  const Tensor qkv = run_op_tensor({"Concat", {split(q), split(k), split(v)}, {{"axis", 3L}}});
  check_close(run({qkv})[0].tensor(), plain[0].tensor());
  const Tensor kv = run_op_tensor({"Concat", {split(k), split(v)}, {{"axis", 3L}}});
  check_close(run({q, kv})[0].tensor(), plain[0].tensor());
  check_close(run({q, plain[1].tensor(), plain[2].tensor()})[0].tensor(), plain[0].tensor());
  CHECK_THROWS_AS(run({q, k}), Error);
  CHECK_THROWS_AS(run({q}), Error);
}

TEST_CASE("GroupQueryAttention with a cache, rotation and a window") {
  const graph::Attributes heads{
      {"num_heads", 2L}, {"kv_num_heads", 1L}, {"do_rotary", 1L}, {"local_window_size", 3L}};
  const auto got = run_op(
      {"GroupQueryAttention",
       {wave({1, 2, 32}, 0), wave({1, 2, 16}, 1), wave({1, 2, 16}, 2), wave({1, 1, 2, 16}, 5),
        wave({1, 1, 2, 16}, 6), ints({1}, {3}), ints({}, {4}), wave({6, 8}, 3), wave({6, 8}, 4)},
       heads,
       3,
       contrib});
  check_close(every_eighth(got[0].tensor()),
              Tensor::of<float>({8}, {0.1215968F, 0.1160932F, -0.52549F, -0.5596813F, -0.2855506F,
                                      -0.2741782F, 0.2009481F, 0.2736993F}),
              tolerance);
  check_close(every_eighth(got[1].tensor()),
              Tensor::of<float>({8}, {-0.9589243F, -0.9227754F, -0.472422F, 0.1899867F, 0.6882771F,
                                      0.720217F, 0.5139715F, -1.038341F}),
              tolerance);
}

TEST_CASE("GroupQueryAttention with sinks and capped scores") {
  const graph::Attributes heads{{"num_heads", 2L}, {"kv_num_heads", 1L}, {"softcap", 1.5F}};
  const Tensor y = run_op_tensor({"GroupQueryAttention",
                                  {wave({1, 2, 32}, 0), wave({1, 2, 16}, 1), wave({1, 2, 16}, 2),
                                   Value(), Value(), ints({1}, {1}), ints({}, {2}), Value(),
                                   Value(), Value(), Value(), Tensor::of<float>({2}, {0.5F, -1})},
                                  heads,
                                  1,
                                  contrib});
  check_close(every_eighth(y),
              Tensor::of<float>({8}, {0.5618138F, 0.5980338F, 0.4156819F, 0.4424808F, 0.2030271F,
                                      0.1139101F, 0.7548965F, 0.7261174F}),
              tolerance);
}

TEST_CASE("GroupQueryAttention normalizes queries and keys before it rotates them") {
  const Tensor q = random_tensor({1, 2, 8}, 1);
  const Tensor k = random_tensor({1, 2, 4}, 2);
  const Tensor weight = random_tensor({4}, 3);
  const graph::Attributes heads{{"num_heads", 2L}, {"kv_num_heads", 1L}};
  const auto norm = [&](const Tensor& x, std::int64_t count) {
    return run_op_tensor(
               {"RMSNormalization", {x.reshaped({1, 2, count, 4}), weight}, {{"epsilon", 1e-6F}}})
        .reshaped(x.shape());
  };
  const auto run = [&](const Tensor& query, const Tensor& key, std::vector<Value> more) {
    std::vector<Value> inputs{query,          key,           k,       Value(), Value(),
                              ints({1}, {1}), ints({}, {2}), Value(), Value(), Value(),
                              Value(),        Value(),       Value(), Value()};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return run_op_tensor({"GroupQueryAttention", inputs, heads, 1, contrib});
  };
  check_close(run(q, k, {weight, weight}), run(norm(q, 2), norm(k, 1), {}));
}

TEST_CASE("RotaryEmbedding of com.microsoft counts on from one position") {
  const Tensor x = wave({1, 2, 4}, 0);
  const auto position = Tensor::of<std::int64_t>({1}, {1});
  check_close(
      run_op_tensor(
          {"RotaryEmbedding", {x, position, wave({3, 1}, 1), wave({3, 1}, 2)}, {}, 1, contrib}),
      Tensor::of<float>({1, 2, 4}, {-0.2753257F, 0.638848F, 0.6083176F, 1.277176F, 0.1366326F,
                                    -0.3225444F, -0.8397744F, -0.4408871F}),
      tolerance);
  check_gradient(
      {"RotaryEmbedding",
       {random_tensor({1, 2, 4}, 1), position, random_tensor({3, 1}, 2), random_tensor({3, 1}, 3)},
       {{"num_heads", 2L}},
       1,
       contrib},
      {.variants = false});
}

TEST_CASE("Derivatives of the attentions of com.microsoft") {
  const GradientCheck check{.elements = 4, .variants = false};
  const Tensor x = random_tensor({1, 3, 2}, 1);
  const Tensor past = random_tensor({2, 1, 2, 1, 2}, 4);
  check_gradient({"Attention",
                  {x, random_tensor({2, 12}, 2), random_tensor({12}, 3), ints({1, 4}, {1, 1, 0, 1}),
                   past, random_tensor({1, 2, 3, 4}, 5)},
                  two_heads,
                  2,
                  contrib},
                 check);
  const Tensor q = random_tensor({1, 2, 4}, 1);
  const Tensor k = random_tensor({1, 3, 4}, 2);
  const Tensor v = random_tensor({1, 3, 4}, 3);
  const Tensor cache = random_tensor({1, 2, 1, 2}, 6);
  check_gradient(
      {"MultiHeadAttention",
       {q, k, v, random_tensor({12}, 4), Value(), random_tensor({1, 1, 2, 4}, 5), cache, cache},
       two_heads,
       3,
       contrib},
      check);
  const Tensor rows = random_tensor({1, 2, 8}, 1);
  const Tensor keys = random_tensor({1, 2, 4}, 2);
  const Tensor cached = random_tensor({1, 1, 2, 4}, 3);
  const Tensor turns = random_tensor({6, 2}, 4);
  const Tensor weight = random_tensor({4}, 5);
  check_gradient(
      {"GroupQueryAttention",
       {rows, keys, keys, cached, cached, ints({1}, {3}), ints({}, {4}), turns, turns, Value(),
        random_tensor({1, 2, 2, 4}, 6), random_tensor({2}, 7), Value(), Value(), weight, weight},
       {{"num_heads", 2L}, {"kv_num_heads", 1L}, {"do_rotary", 1L}},
       3,
       contrib},
      {.dynamic_dims = false, .elements = 4, .variants = false});
}

TEST_CASE("Attentions of com.microsoft reject what they cannot do") {
  const Tensor x = wave({1, 3, 2}, 0);
  const Tensor w = wave({2, 12}, 1);
  const auto rejects = [&](graph::Attributes attributes) {
    CHECK_THROWS_AS(run_op({"Attention", {x, w}, std::move(attributes), 1, contrib}), Error);
  };
  rejects({});
  rejects({{"num_heads", 3L}});
  rejects({{"num_heads", 2L}, {"do_rotary", 1L}});
  rejects({{"num_heads", 2L}, {"past_present_share_buffer", 1L}});
  rejects({{"num_heads", 2L}, {"qkv_hidden_sizes", std::vector<std::int64_t>{4, 2, 6}}});
  CHECK_THROWS_WITH(run_op({"Attention", {x, w}, {{"num_heads", 3L}}, 1, contrib}),
                    Catch::Contains("hidden size 4 is not a multiple of 3 heads"));
}
