#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

double at(const Tensor& t, std::int64_t i) {
  return t.values<double>()[static_cast<std::size_t>(i)];
}
double& at(Tensor& t, std::int64_t i) {
  return t.mutable_values<double>()[static_cast<std::size_t>(i)];
}

constexpr double epsilon = 1e-5F;

struct Statistics {
  std::vector<double> mean, variance;
};

// Over the elements i with the same key(i).
template <class Key>
Statistics statistics(const Tensor& x, std::int64_t groups, Key key) {
  Statistics s{std::vector<double>(static_cast<std::size_t>(groups)),
               std::vector<double>(static_cast<std::size_t>(groups))};
  std::vector<double> count(static_cast<std::size_t>(groups));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    s.mean[key(i)] += at(x, i);
    count[key(i)] += 1;
  }
  for (std::size_t k = 0; k < count.size(); ++k) s.mean[k] /= count[k];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double d = at(x, i) - s.mean[key(i)];
    s.variance[key(i)] += d * d / count[key(i)];
  }
  return s;
}

template <class Key>
Tensor normalized(const Tensor& x, const Statistics& s, Key key) {
  Tensor y(DType::float64, x.shape());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    at(y, i) = (at(x, i) - s.mean[key(i)]) / std::sqrt(s.variance[key(i)] + epsilon);
  }
  return y;
}

Tensor row(const std::vector<double>& values) {
  return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
}

std::vector<Value> batch_inputs(const Shape& shape) {
  const std::int64_t c = shape.rank() > 1 ? shape[1] : 1;
  return {random_tensor(shape, 1), random_tensor({c}, 2), random_tensor({c}, 3),
          random_tensor({c}, 4), random_tensor({c}, 5, 0.5, 2)};
}

}  // namespace

TEST_CASE("BatchNormalization in inference uses the statistics it is given") {
  for (const Shape& shape : {Shape{3, 2, 4, 5}, {4, 3}, {5}, {2, 3, 2}, {0, 3, 2}}) {
    INFO(shape.to_string());
    const auto in = batch_inputs(shape);
    const std::int64_t c = shape.rank() > 1 ? shape[1] : 1;
    const std::int64_t spatial = shape.rank() > 1 ? shape.size(2, shape.rank()) : 1;
    Tensor want(DType::float64, shape);
    for (std::int64_t i = 0; i < want.size(); ++i) {
      const std::int64_t k = i / spatial % c;
      at(want, i) = (at(in[0].tensor(), i) - at(in[3].tensor(), k)) /
                        std::sqrt(at(in[4].tensor(), k) + epsilon) * at(in[1].tensor(), k) +
                    at(in[2].tensor(), k);
    }
    for (const std::int64_t version : {7, 9, 14, 15}) {
      check_close(run_op_tensor({.op = "BatchNormalization", .inputs = in, .version = version}),
                  want);
    }
    check_close(run_op_tensor({.op = "BatchNormalization",
                               .inputs = in,
                               .attributes = {{"is_test", 1L}},
                               .version = 6}),
                want);
  }
}

TEST_CASE("BatchNormalization in training uses those of the batch and moves the running ones") {
  const auto in = batch_inputs({3, 2, 4, 5});
  const Tensor& x = in[0].tensor();
  const auto key = [](std::int64_t i) { return static_cast<std::size_t>(i / 20 % 2); };
  const Statistics s = statistics(x, 2, key);
  Tensor want = normalized(x, s, key);
  std::vector<double> mean, variance;
  for (std::int64_t k = 0; k < 2; ++k) {
    const auto u = static_cast<std::size_t>(k);
    const double m = 0.75;
    mean.push_back(at(in[3].tensor(), k) * m + s.mean[u] * (1 - m));
    variance.push_back(at(in[4].tensor(), k) * m + s.variance[u] * (1 - m));
  }
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const auto k = static_cast<std::int64_t>(key(i));
    at(want, i) = at(want, i) * at(in[1].tensor(), k) + at(in[2].tensor(), k);
  }
  for (const std::int64_t version : {6, 9, 15}) {
    graph::Attributes attributes{{"momentum", 0.75F}};
    if (version == 15) attributes.emplace_back("training_mode", 1L);
    const auto got = run_op({.op = "BatchNormalization",
                             .inputs = in,
                             .attributes = attributes,
                             .outputs = 3,
                             .version = version});
    check_close(got[0].tensor(), want);
    check_close(got[1].tensor(), row(mean));
    check_close(got[2].tensor(), row(variance));
  }
}

TEST_CASE("Before version 9 BatchNormalization can normalize every activation by itself") {
  const Tensor x = random_tensor({4, 2, 3}, 1);
  const Tensor ones = random_tensor({2, 3}, 2, 1, 1);
  const Tensor zeros(DType::float64, {2, 3});
  const auto key = [](std::int64_t i) { return static_cast<std::size_t>(i % 6); };
  const auto got = run_op({.op = "BatchNormalization",
                           .inputs = {x, ones, zeros, zeros, ones},
                           .attributes = {{"spatial", 0L}},
                           .outputs = 3,
                           .version = 7});
  check_close(got[0].tensor(), normalized(x, statistics(x, 6, key), key));
}

TEST_CASE("BatchNormalization takes float16 activations with float statistics") {
  const Tensor x = Tensor::of<float16>({2, 1}, {float16{0x3c00}, float16{0x4200}});  // 1, 3
  const auto one = Tensor::of<float>({1}, {1});
  const auto got = run_op({"BatchNormalization",
                           {x, one, one, one, one},
                           {{"training_mode", 1L}, {"momentum", 0.5F}},
                           3});
  CHECK(got[0].tensor().dtype() == DType::float16);
  CHECK(as_doubles(got[0].tensor())[0] == Approx(0).margin(1e-4));
  CHECK(as_doubles(got[0].tensor())[1] == Approx(2).epsilon(1e-3));
  CHECK(as_doubles(got[1].tensor()) == std::vector<double>{1.5});
}

TEST_CASE("BatchNormalization rejects other numbers of channels") {
  auto in = batch_inputs({3, 2, 4});
  in[2] = random_tensor({3}, 1);
  CHECK_THROWS_WITH(run_op({"BatchNormalization", in}), Catch::Contains("numbers of channels"));
  in[2] = random_tensor({2, 1}, 1);
  CHECK_THROWS_AS(run_op({"BatchNormalization", in}), Error);
}

TEST_CASE("Derivatives of BatchNormalization") {
  for (const Shape& shape : {Shape{3, 2, 2}, {4, 3}, {5}}) {
    INFO(shape.to_string());
    const auto in = batch_inputs(shape);
    check_gradient({"BatchNormalization", in}, {.elements = 12});
    check_gradient({"BatchNormalization", in, {{"training_mode", 1L}}, 3}, {.elements = 12});
  }
  const OpCase apart{
      .op = "BatchNormalization",
      .inputs = {random_tensor({4, 2, 3}, 1), random_tensor({2, 3}, 2), random_tensor({2, 3}, 3),
                 random_tensor({2, 3}, 4), random_tensor({2, 3}, 5, 0.5, 2)},
      .attributes = {{"spatial", 0L}},
      .outputs = 3,
      .version = 7};
  check_gradient(apart, {.elements = 12});
}

TEST_CASE("LayerNormalization over the last axes, with statistics") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  for (const std::int64_t axis : {0, 1, 2, -1, -2}) {
    const auto from = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    const std::int64_t length = x.shape().size(from, 3);
    const auto key = [&](std::int64_t i) { return static_cast<std::size_t>(i / length); };
    const Statistics s = statistics(x, 24 / length, key);
    Shape dims;
    for (std::size_t i = from; i < 3; ++i) dims.push_back(x.shape()[i]);
    const Tensor scale = random_tensor(dims, 2);
    const Tensor bias = random_tensor(dims, 3);
    Tensor want = normalized(x, s, key);
    for (std::int64_t i = 0; i < 24; ++i) {
      at(want, i) = at(want, i) * at(scale, i % length) + at(bias, i % length);
    }
    const auto got = run_op({"LayerNormalization", {x, scale, bias}, {{"axis", axis}}, 3});
    check_close(got[0].tensor(), want);
    Shape kept = x.shape();
    for (std::size_t i = from; i < 3; ++i) kept[i] = 1;
    CHECK(got[1].tensor().shape() == kept);
    CHECK(got[1].tensor().dtype() == DType::float32);
    const auto mean = as_doubles(got[1].tensor());
    const auto inverse = as_doubles(got[2].tensor());
    for (std::size_t k = 0; k < mean.size(); ++k) {
      CHECK(mean[k] == Approx(s.mean[k]).margin(1e-6));
      CHECK(inverse[k] == Approx(1 / std::sqrt(s.variance[k] + epsilon)));
    }
  }
}

TEST_CASE("LayerNormalization broadcasts scale and bias") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor scale = random_tensor({3, 1}, 2);
  const Tensor bias = random_tensor({4}, 3);
  const Tensor wide_scale =
      run_op_tensor({"Expand", {scale, Tensor::of<std::int64_t>({2}, {3, 4})}});
  const Tensor wide_bias = run_op_tensor({"Expand", {bias, Tensor::of<std::int64_t>({2}, {3, 4})}});
  check_close(run_op_tensor({"LayerNormalization", {x, scale, bias}, {{"axis", 1L}}}),
              run_op_tensor({"LayerNormalization", {x, wide_scale, wide_bias}, {{"axis", 1L}}}));
  CHECK_THROWS_AS(run_op({"LayerNormalization", {x, random_tensor({3}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"LayerNormalization", {x, random_tensor({2, 3, 4}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"LayerNormalization", {x, bias}, {{"axis", 3L}}}), Error);
  CHECK_THROWS_AS(run_op({"LayerNormalization", {x, bias}, {{"stash_type", 7L}}}), Error);
}

TEST_CASE("Derivatives of LayerNormalization") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  check_gradient({"LayerNormalization", {x, random_tensor({4}, 2), random_tensor({4}, 3)}});
  check_gradient({"LayerNormalization", {x, random_tensor({3, 1}, 2)}, {{"axis", 1L}}});
  check_gradient(
      {"LayerNormalization", {x, random_tensor({4}, 2), random_tensor({4}, 3)}, {{"axis", 0L}}});
  check_gradient({.op = "Normalize",
                  .inputs = {x},
                  .attributes = {{"axis", 1L}},
                  .outputs = 3,
                  .domain = "ai.ondine"});
}

TEST_CASE("InstanceNormalization and GroupNormalization") {
  const Tensor x = random_tensor({2, 4, 3, 2}, 1);
  const Tensor scale = random_tensor({4}, 2);
  const Tensor bias = random_tensor({4}, 3);
  const auto scaled = [&](Tensor y, std::int64_t per) {
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t k = i / 6 % 4 / per;
      at(y, i) = at(y, i) * at(scale, k) + at(bias, k);
    }
    return y;
  };
  const auto channel = [](std::int64_t i) { return static_cast<std::size_t>(i / 6); };
  check_close(run_op_tensor({"InstanceNormalization", {x, scale, bias}}),
              scaled(normalized(x, statistics(x, 8, channel), channel), 1));
  const auto group = [](std::int64_t i) { return static_cast<std::size_t>(i / 12); };
  const Tensor grouped = normalized(x, statistics(x, 4, group), group);
  const OpCase now{"GroupNormalization", {x, scale, bias}, {{"num_groups", 2L}}};
  check_close(run_op_tensor(now), scaled(grouped.clone(), 1));
  const auto half = [](const Tensor& t) {
    return Tensor::of<double>({2}, t.values<double>().first(2));
  };
  const OpCase old{.op = "GroupNormalization",
                   .inputs = {x, half(scale), half(bias)},
                   .attributes = {{"num_groups", 2L}},
                   .version = 18};
  check_close(run_op_tensor(old), scaled(grouped.clone(), 2));
  check_gradient({"InstanceNormalization", {x, scale, bias}}, {.elements = 10});
  check_gradient(now, {.elements = 10});
  check_gradient(old, {.elements = 10});
  CHECK_THROWS_AS(run_op({"GroupNormalization", {x, scale, bias}, {{"num_groups", 3L}}}), Error);
  CHECK_THROWS_AS(run_op({"GroupNormalization", {x, scale, bias}, {{"num_groups", 0L}}}), Error);
  CHECK_THROWS_AS(run_op({"InstanceNormalization", {x, half(scale), bias}}), Error);
}

TEST_CASE("RMSNormalization divides by the root of the mean square") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor scale = random_tensor({4}, 2);
  Tensor want(DType::float64, x.shape());
  for (std::int64_t r = 0; r < 6; ++r) {
    double sum = 0;
    for (std::int64_t i = 0; i < 4; ++i) sum += at(x, r * 4 + i) * at(x, r * 4 + i);
    for (std::int64_t i = 0; i < 4; ++i) {
      at(want, r * 4 + i) = at(x, r * 4 + i) / std::sqrt(sum / 4 + epsilon) * at(scale, i);
    }
  }
  check_close(run_op_tensor({"RMSNormalization", {x, scale}}), want);
  check_gradient({"RMSNormalization", {x, scale}});
  CHECK_THROWS_AS(run_op({"RMSNormalization", {x, random_tensor({3, 4}, 1)}}), Error);
}

TEST_CASE("A scale of RMSNormalization must not widen the normalized dims") {
  const Tensor x = random_tensor({2, 3, 1}, 1);
  CHECK_THROWS_WITH(run_op({"RMSNormalization", {x, random_tensor({4}, 2)}}),
                    Catch::Contains("scale of shape [4] does not broadcast to [1]"));
}

TEST_CASE("LpNormalization leaves zeros alone") {
  const auto x = Tensor::of<double>({2, 2}, {3, -4, 0, 0});
  check_close(run_op_tensor({"LpNormalization", {x}}),
              Tensor::of<double>({2, 2}, {0.6, -0.8, 0, 0}));
  check_close(run_op_tensor({"LpNormalization", {x}, {{"p", 1L}, {"axis", 0L}}}),
              Tensor::of<double>({2, 2}, {1, -1, 0, 0}));
  CHECK_THROWS_AS(run_op({"LpNormalization", {x}, {{"p", 3L}}}), Error);
  check_gradient({"LpNormalization", {random_tensor({2, 3}, 1)}});
  check_gradient({"LpNormalization", {random_tensor({2, 3}, 1)}, {{"p", 1L}}});
}

TEST_CASE("MeanVarianceNormalization") {
  const Tensor x = random_tensor({2, 3, 2, 2}, 1);
  const auto key = [](std::int64_t i) { return static_cast<std::size_t>(i / 4 % 3); };
  const Statistics s = statistics(x, 3, key);
  Tensor want(DType::float64, x.shape());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    at(want, i) = (at(x, i) - s.mean[key(i)]) / (std::sqrt(s.variance[key(i)]) + 1e-9);
  }
  check_close(run_op_tensor({"MeanVarianceNormalization", {x}}), want);
  check_gradient({"MeanVarianceNormalization", {x}}, {.elements = 10});
}

TEST_CASE("LRN sums over the channels around") {
  for (const std::int64_t size : {1, 2, 3, 5, 9}) {
    const Tensor x = random_tensor({2, 5, 2}, 1);
    Tensor want(DType::float64, x.shape());
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t c = i / 2 % 5;
      double sum = 0;
      for (std::int64_t k = 0; k < 5; ++k) {
        if (k < c - (size - 1) / 2 || k > c + size / 2) continue;
        const double v = at(x, i + (k - c) * 2);
        sum += v * v;
      }
      at(want, i) =
          at(x, i) / std::pow(1.5 + double{0.3F} / static_cast<double>(size) * sum, double{0.6F});
    }
    const OpCase lrn{"LRN", {x}, {{"size", size}, {"bias", 1.5F}, {"alpha", 0.3F}, {"beta", 0.6F}}};
    check_close(run_op_tensor(lrn), want);
    check_gradient(lrn, {.elements = 10});
  }
  CHECK_THROWS_AS(run_op({"LRN", {random_tensor({1, 2, 3}, 1)}, {{"size", 0L}}}), Error);
}
