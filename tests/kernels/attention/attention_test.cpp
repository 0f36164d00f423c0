#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

double at(const Tensor& t, std::int64_t i) {
  return t.values<double>()[static_cast<std::size_t>(i)];
}

// Heads of q share those of k and v; allowed(query, key) says what may be seen.
template <class Allowed>
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale, double cap,
                 Allowed allowed) {
  const Shape s = q.shape();
  const std::int64_t keys = k.shape()[2];
  const std::int64_t width = v.shape()[3];
  Tensor y(DType::float64, {s[0], s[1], s[2], width});
  for (std::int64_t row = 0; row < s[0] * s[1] * s[2]; ++row) {
    const std::int64_t head = row / s[2];
    const std::int64_t shared = head / s[1] * k.shape()[1] + head % s[1] * k.shape()[1] / s[1];
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t f = 0; f < s[3]; ++f) {
        score += at(q, row * s[3] + f) * at(k, (shared * keys + j) * s[3] + f);
      }
      score *= scale;
      if (cap > 0) score = cap * std::tanh(score / cap);
      weights.push_back(allowed(row % s[2], j) ? std::exp(score) : 0);
      sum += weights.back();
    }
    for (std::int64_t f = 0; f < width && sum > 0; ++f) {
      double value = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        value +=
            weights[static_cast<std::size_t>(j)] / sum * at(v, (shared * keys + j) * width + f);
      }
      y.mutable_values<double>()[static_cast<std::size_t>(row * width + f)] = value;
    }
  }
  return y;
}

}  // namespace

TEST_CASE("Attention, shared heads, causal, capped and windowed") {
  const Tensor q = random_tensor({2, 4, 3, 2}, 1);
  const Tensor k = random_tensor({2, 2, 5, 2}, 2);
  const Tensor v = random_tensor({2, 2, 5, 3}, 3);
  const double scale = 1 / std::sqrt(2.0);
  const auto all = [](auto, auto) { return true; };
  check_close(run_op_tensor({"Attention", {q, k, v}}), attention(q, k, v, scale, 0, all));
  check_close(run_op_tensor({"Attention", {q, k, v}, {{"scale", 0.5F}, {"softcap", 2.0F}}}),
              attention(q, k, v, 0.5, 2, all));
  check_close(run_op_tensor({"Attention", {q, k, v}, {{"is_causal", 1L}}}),
              attention(q, k, v, scale, 0, [](auto i, auto j) { return j <= i; }));
  check_close(
      run_op_tensor(
          {"Attention", {q, k, v}, {{"left_window_size", 1L}, {"right_window_size", 1L}}}),
      attention(q, k, v, scale, 0, [](auto i, auto j) { return j >= i - 1 && j <= i + 1; }));
}

TEST_CASE("Attention with heads side by side and with a past") {
  const Tensor q = random_tensor({1, 3, 4}, 1);
  const Tensor k = random_tensor({1, 2, 4}, 2);
  const Tensor past = random_tensor({1, 2, 3, 2}, 3);
  const auto got = run_op({"Attention",
                           {q, k, k, Value(), past, past},
                           {{"q_num_heads", 2L}, {"kv_num_heads", 2L}, {"is_causal", 1L}},
                           4});
  CHECK(got[0].tensor().shape() == Shape{1, 3, 4});
  CHECK(got[1].tensor().shape() == Shape{1, 2, 5, 2});
  CHECK(got[3].tensor().shape() == Shape{1, 2, 3, 5});
  const auto split = [](const Tensor& x, std::int64_t steps) {
    return run_op_tensor({"Transpose",
                          {x.reshaped({1, steps, 2, 2})},
                          {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}});
  };
  const Tensor keys = run_op_tensor({"Concat", {past, split(k, 2)}, {{"axis", 2L}}});
  const Tensor want = attention(split(q, 3), keys, keys, 1 / std::sqrt(2.0), 0,
                                [](auto i, auto j) { return j <= i + 3; });
  check_close(got[1].tensor(), keys);
  check_close(split(got[0].tensor(), 3), want);
}

TEST_CASE("Attention of a row that may see nothing is zero, its derivative too") {
  const Tensor q = random_tensor({1, 1, 2, 2}, 1);
  const auto mask = Tensor::of<double>({2, 2}, {0, 0.5, -std::numeric_limits<double>::infinity(),
                                                -std::numeric_limits<double>::infinity()});
  const auto y = as_doubles(run_op_tensor({"Attention", {q, q, q, mask}}));
  CHECK(y[2] == 0);
  CHECK(y[3] == 0);
  check_gradient({"Attention", {q, q, q, mask}}, {.skip = {3}});
}

TEST_CASE("Derivatives of Attention") {
  const Tensor q = random_tensor({1, 2, 3, 2}, 1);
  const Tensor k = random_tensor({1, 1, 3, 2}, 2);
  check_gradient({"Attention", {q, k, k}, {{"is_causal", 1L}}},
                 {.dynamic_dims = false, .elements = 8});
  check_gradient({"Attention", {q, q, q}, {{"softcap", 2.0F}}}, {.elements = 8});
}

TEST_CASE("Attention rejects what does not fit") {
  const Tensor q = random_tensor({1, 3, 2, 2}, 1);
  const Tensor k = random_tensor({1, 2, 2, 2}, 2);
  CHECK_THROWS_AS(run_op({"Attention", {q, k, k}}), Error);
  CHECK_THROWS_AS(run_op({"Attention", {q, q, k}}), Error);
  CHECK_THROWS_AS(run_op({"Attention",
                          {random_tensor({1, 2, 4}, 1), random_tensor({1, 2, 4}, 1),
                           random_tensor({1, 2, 4}, 1)}}),
                  Error);
}

TEST_CASE("RotaryEmbedding turns pairs") {
  const auto x = Tensor::of<double>({1, 1, 1, 4}, {1, 2, 3, 4});
  const double c = std::cos(0.5);
  const double s = std::sin(0.5);
  const auto cos = Tensor::of<double>({1, 1, 2}, {c, 1});
  const auto sin = Tensor::of<double>({1, 1, 2}, {s, 0});
  check_close(run_op_tensor({"RotaryEmbedding", {x, cos, sin}}),
              Tensor::of<double>({1, 1, 1, 4}, {c - 3 * s, 2, s + 3 * c, 4}));
  check_close(run_op_tensor({"RotaryEmbedding", {x, cos, sin}, {{"interleaved", 1L}}}),
              Tensor::of<double>({1, 1, 1, 4}, {c - 2 * s, s + 2 * c, 3, 4}));
  const auto position = Tensor::of<std::int64_t>({1, 1}, {0});
  const Tensor two = random_tensor({1, 1}, 1, c, c);
  const Tensor two_sin = random_tensor({1, 1}, 1, s, s);
  check_close(run_op_tensor({"RotaryEmbedding",
                             {x.reshaped({1, 1, 4}), two, two_sin, position},
                             {{"num_heads", 1L}, {"rotary_embedding_dim", 2L}}}),
              Tensor::of<double>({1, 1, 4}, {c - 2 * s, s + 2 * c, 3, 4}));
  check_gradient(
      {"RotaryEmbedding",
       {random_tensor({1, 2, 3, 4}, 1), random_tensor({1, 3, 2}, 2), random_tensor({1, 3, 2}, 3)}});
  CHECK_THROWS_AS(run_op({"RotaryEmbedding", {x.reshaped({1, 1, 4}), cos, sin}}), Error);
}

TEST_CASE("Attention shows its scores at four stages") {
  const Tensor q = random_tensor({1, 2, 3, 2}, 1);
  const Tensor mask = random_tensor({3, 3}, 2);
  const auto stage = [&](std::int64_t mode) {
    return run_op({"Attention",
                   {q, q, q, mask},
                   {{"qk_matmul_output_mode", mode}, {"softcap", 1.5F}, {"scale", 0.7F}},
                   4})[3]
        .tensor();
  };
  const Tensor scores = stage(0);
  Tensor want = scores.clone();
  for (double& x : want.mutable_values<double>()) x = 1.5 * std::tanh(x / 1.5);
  check_close(stage(1), want);
  for (std::int64_t i = 0; i < 18; ++i) {
    want.mutable_values<double>()[static_cast<std::size_t>(i)] += at(mask, i % 9);
  }
  check_close(stage(2), want);
  check_close(stage(3), run_op_tensor({"Softmax", {want}}));
}

TEST_CASE("Attention to the keys that are not padding") {
  const Tensor q = random_tensor({2, 2, 2, 3}, 1);
  const Tensor k = random_tensor({2, 2, 4, 3}, 2);
  const auto lengths = Tensor::of<std::int64_t>({2}, {3, 4});
  const double scale = 1 / std::sqrt(3.0);
  const auto part = [](const Tensor& x, std::int64_t sample) {
    return run_op_tensor({"Slice",
                          {x, Tensor::of<std::int64_t>({1}, {sample}),
                           Tensor::of<std::int64_t>({1}, {sample + 1})}});
  };
  for (const std::int64_t causal : {0, 1}) {
    const Tensor y = run_op_tensor(
        {"Attention", {q, k, k, Value(), Value(), Value(), lengths}, {{"is_causal", causal}}});
    for (std::int64_t sample = 0; sample < 2; ++sample) {
      const std::int64_t count = 3 + sample;
      check_close(part(y, sample), attention(part(q, sample), part(k, sample), part(k, sample),
                                             scale, 0, [&](auto i, auto j) {
                                               return j < count &&
                                                      (causal == 0 || j <= i + count - 2);
                                             }));
    }
  }
}

TEST_CASE("Attention in every float dtype and with boolean masks") {
  const Tensor q = random_tensor({1, 2, 3, 4}, 1, -1, 1);
  Tensor mask(DType::boolean, {3, 3});
  for (std::size_t i = 0; i < 9; ++i) mask.mutable_values<bool>()[i] = i % 4 != 1;
  const Tensor want = attention(q, q, q, 0.5, 0, [&](auto i, auto j) {
    return mask.values<bool>()[static_cast<std::size_t>(i * 3 + j)];
  });
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const Tensor x = run_op_tensor({"Cast", {q}, {{"to", static_cast<std::int64_t>(dtype)}}});
    const Tensor y = run_op_tensor({"Attention", {x, x, x, mask}});
    CHECK(y.dtype() == dtype);
    const auto got = as_doubles(y);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double margin = dtype == DType::bfloat16 ? 2e-2 : dtype == DType::float16 ? 3e-3 : 1e-5;
      CHECK(got[i] == Approx(want.values<double>()[i]).margin(margin));
    }
  }
  CHECK(run_op_tensor({"Attention",
                       {Tensor(DType::float32, {0, 2, 3, 4}), Tensor(DType::float32, {0, 2, 5, 4}),
                        Tensor(DType::float32, {0, 2, 5, 6})}})
            .shape() == Shape{0, 2, 3, 6});
  const Tensor none(DType::float32, {0, 3, 4});
  CHECK(
      run_op_tensor({"Attention", {none, none, none}, {{"q_num_heads", 2L}, {"kv_num_heads", 2L}}})
          .shape() == Shape{0, 3, 4});
  CHECK(run_op_tensor({"RotaryEmbedding",
                       {none, Tensor(DType::float32, {0, 3, 1}), Tensor(DType::float32, {0, 3, 1})},
                       {{"num_heads", 2L}}})
            .shape() == Shape{0, 3, 4});
}

TEST_CASE("RotaryEmbedding in every float dtype") {
  const Tensor x = random_tensor({2, 3, 4, 6}, 1, -1, 1);
  const Tensor angle = random_tensor({2, 4, 3}, 2);
  const Tensor cos = run_op_tensor({"Cos", {angle}});
  const Tensor sin = run_op_tensor({"Sin", {angle}});
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const auto to = [&](const Tensor& t) {
      return run_op_tensor({"Cast", {t}, {{"to", static_cast<std::int64_t>(dtype)}}});
    };
    const auto got = as_doubles(run_op_tensor({"RotaryEmbedding", {to(x), to(cos), to(sin)}}));
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t f = i % 6;
      const std::int64_t pair = f % 3;
      const std::int64_t a = (i / 72 * 4 + i / 6 % 4) * 3 + pair;
      const double first = at(x, i - f + pair);
      const double second = at(x, i - f + pair + 3);
      const double want = f < 3 ? at(cos, a) * first - at(sin, a) * second
                                : at(sin, a) * first + at(cos, a) * second;
      const double margin = dtype == DType::bfloat16 ? 3e-2 : dtype == DType::float16 ? 4e-3 : 1e-5;
      CHECK(got[static_cast<std::size_t>(i)] == Approx(want).margin(margin));
    }
  }
}
