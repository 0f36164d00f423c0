// GroupQueryAttention against sums that are written out.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::size_t batch = 2;
constexpr std::size_t steps = 3;
constexpr std::size_t heads = 4;
constexpr std::size_t pairs = 2;  // heads of keys and values
constexpr std::size_t size = 2;
constexpr std::size_t lengths[batch] = {3, 2};

// Element of one of `count` heads in a row of [batch, steps, count * size].
double at(const Tensor& x, std::size_t count, std::size_t b, std::size_t s, std::size_t head,
          std::size_t e) {
  return x.values<double>()[((b * steps + s) * count + head) * size + e];
}

// Without `causal` a query sees all keys of its row's length.
Tensor attended(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                bool causal) {
  Tensor y(DType::float64, {batch, steps, heads * size});
  for (std::size_t i = 0; i < batch * steps * heads; ++i) {
    const std::size_t head = i % heads;
    const std::size_t s = i / heads % steps;
    const std::size_t b = i / heads / steps;
    double sum = 0;
    double result[size] = {};
    for (std::size_t key = 0; key < steps; ++key) {
      if (causal ? key > s : key >= lengths[b]) continue;
      double score = bias.values<double>()[((b * heads + head) * steps + s) * steps + key];
      for (std::size_t e = 0; e < size; ++e) {
        score += at(q, heads, b, s, head, e) * at(k, pairs, b, key, head / 2, e) / std::sqrt(size);
      }
      sum += std::exp(score);
      for (std::size_t e = 0; e < size; ++e) {
        result[e] += std::exp(score) * at(v, pairs, b, key, head / 2, e);
      }
    }
    for (std::size_t e = 0; e < size; ++e) {
      y.mutable_values<double>()[i * size + e] = result[e] / sum;
    }
  }
  return y;
}

}  // namespace

TEST_CASE("GroupQueryAttention adds its bias and sees all keys of a row unless it is causal") {
  const Tensor q = random_tensor({batch, steps, heads * size}, 1);
  const Tensor k = random_tensor({batch, steps, pairs * size}, 2);
  const Tensor v = random_tensor({batch, steps, pairs * size}, 3);
  const Tensor bias = random_tensor({batch, heads, steps, steps}, 4);
  for (const bool causal : {false, true}) {
    const Tensor y =
        run_op_tensor({"GroupQueryAttention",
                       {q, k, v, Value(), Value(), Tensor::of<std::int32_t>({batch}, {2, 1}),
                        Tensor::scalar(std::int32_t{steps}), Value(), Value(), Value(), bias},
                       {{"num_heads", static_cast<std::int64_t>(heads)},
                        {"kv_num_heads", static_cast<std::int64_t>(pairs)},
                        {"causal", std::int64_t{causal}}},
                       1,
                       contrib});
    check_close(y, attended(q, k, v, bias, causal));
  }
}

namespace {

// The positions [first, last) of the middle axis of [batch, steps, ...].
Tensor positions(const Tensor& x, std::size_t first, std::size_t last) {
  const auto width = static_cast<std::size_t>(x.size()) / batch / steps;
  std::vector<double> values;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = first * width; i < last * width; ++i) {
      values.push_back(x.values<double>()[b * steps * width + i]);
    }
  }
  const auto count = static_cast<std::int64_t>(last - first);
  return Tensor::of<double>({batch, count, static_cast<std::int64_t>(width)}, values);
}

// Keys or values as a cache [batch, heads, length, size] whose tail is 9.
Tensor cache_of(const Tensor& x, std::size_t used, std::size_t length) {
  Tensor cache(DType::float64, {batch, pairs, static_cast<std::int64_t>(length), size});
  auto values = cache.mutable_values<double>();
  std::fill(values.begin(), values.end(), 9.0);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t head = 0; head < pairs; ++head) {
      for (std::size_t s = 0; s < used; ++s) {
        for (std::size_t e = 0; e < size; ++e) {
          values[((b * pairs + head) * length + s) * size + e] = at(x, pairs, b, s, head, e);
        }
      }
    }
  }
  return cache;
}

}  // namespace

TEST_CASE("GroupQueryAttention with a cache continues what a call without one would give") {
  const Tensor q = random_tensor({batch, steps, heads * size}, 1);
  const Tensor k = random_tensor({batch, steps, pairs * size}, 2);
  const Tensor v = random_tensor({batch, steps, pairs * size}, 3);
  const Tensor none(DType::float64, {batch, heads, steps, steps});
  const Tensor want = positions(attended(q, k, v, none, true), 2, 3);
  // A cache of the past alone grows; one with room stays as long as it is.
  for (const std::size_t length : {2, 3, 5}) {
    CAPTURE(length);
    const auto got =
        run_op({"GroupQueryAttention",
                {positions(q, 2, 3), positions(k, 2, 3), positions(v, 2, 3), cache_of(k, 2, length),
                 cache_of(v, 2, length), Tensor::of<std::int32_t>({batch}, {2, 2}),
                 Tensor::scalar(std::int32_t{steps})},
                {{"num_heads", static_cast<std::int64_t>(heads)},
                 {"kv_num_heads", static_cast<std::int64_t>(pairs)}},
                3,
                contrib});
    check_close(got[0].tensor(), want);
    check_close(got[1].tensor(), cache_of(k, 3, std::max(length, steps)));
    check_close(got[2].tensor(), cache_of(v, 3, std::max(length, steps)));
  }
}
