#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// Element by element over the broadcast batch.
Tensor product(const Tensor& a, const Tensor& b, const Shape& batch, std::int64_t m, std::int64_t k,
               std::int64_t n) {
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  Tensor y(DType::float64, shape);
  const auto at = [&](const Tensor& x, std::int64_t linear) {
    std::int64_t offset = 0;
    std::int64_t stride = x.shape()[x.shape().rank() - 1] * x.shape()[x.shape().rank() - 2];
    for (std::size_t i = 0; i + 2 < x.shape().rank(); ++i) {
      const std::int64_t size = batch[batch.rank() - 1 - i];
      const std::int64_t own = x.shape()[x.shape().rank() - 3 - i];
      offset += own == 1 ? 0 : linear % size * stride;
      linear /= size;
      stride *= own;
    }
    return x.values<double>().data() + offset;
  };
  for (std::int64_t p = 0; p < batch.size(); ++p) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += at(a, p)[i * k + l] * at(b, p)[l * n + j];
        y.mutable_values<double>()[static_cast<std::size_t>((p * m + i) * n + j)] = sum;
      }
    }
  }
  return y;
}

}  // namespace

TEST_CASE("MatMul multiplies the last two dims and broadcasts the others") {
  struct Case {
    Shape a, b, batch;
    std::int64_t m, k, n;
  };
  const std::vector<Case> cases{
      {{3, 4}, {4, 5}, {}, 3, 4, 5},       {{2, 3, 4}, {4, 5}, {2}, 3, 4, 5},
      {{3, 4}, {6, 4, 5}, {6}, 3, 4, 5},   {{2, 1, 3, 4}, {7, 4, 1}, {2, 7}, 3, 4, 1},
      {{0, 3, 4}, {4, 5}, {0}, 3, 4, 5},   {{2, 3, 0}, {2, 0, 5}, {2}, 3, 0, 5},
      {{2, 0, 4}, {2, 4, 5}, {2}, 0, 4, 5}};
  for (const auto& c : cases) {
    INFO(c.a.to_string() << " times " << c.b.to_string());
    const Tensor a = random_tensor(c.a, 1);
    const Tensor b = random_tensor(c.b, 2);
    check_close(run_op_tensor({"MatMul", {a, b}}), product(a, b, c.batch, c.m, c.k, c.n));
  }
}

TEST_CASE("A vector is a row on the left of MatMul and a column on the right") {
  const Tensor v = random_tensor({4}, 1);
  const Tensor m = random_tensor({2, 4, 3}, 2);
  check_close(run_op_tensor({"MatMul", {v, m}}),
              product(v.reshaped({1, 4}), m, {2}, 1, 4, 3).reshaped({2, 3}));
  const Tensor w = random_tensor({3}, 3);
  check_close(run_op_tensor({"MatMul", {m, w}}),
              product(m, w.reshaped({3, 1}), {2}, 4, 3, 1).reshaped({2, 4}));
  check_close(run_op_tensor({"MatMul", {v, v}}),
              product(v.reshaped({1, 4}), v.reshaped({4, 1}), {}, 1, 4, 1).reshaped({}));
}

TEST_CASE("MatMul of integers wraps around") {
  const auto a = Tensor::of<std::int32_t>({2, 2}, {1, 2, 2147483647, 1});
  const auto b = Tensor::of<std::int32_t>({2, 1}, {3, 4});
  CHECK(run_op_tensor({"MatMul", {a, b}})
            .identical(Tensor::of<std::int32_t>({2, 1}, {11, -2147483647})));
  const auto c = Tensor::of<std::uint64_t>({2}, {5, 7});
  CHECK(run_op_tensor({"MatMul", {c, c}}).identical(Tensor::scalar<std::uint64_t>(74)));
}

TEST_CASE("Products of integers equal sums modulo 2^n for every transposition") {
  const auto check = [](std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
    std::uint64_t state = static_cast<std::uint64_t>(m * 100 + n * 10 + k);
    const auto numbers = [&](const Shape& shape) {
      Tensor x(DType::int64, shape);
      for (auto& v : x.mutable_values<std::int64_t>()) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v = static_cast<std::int64_t>(state);
      }
      return x;
    };
    const std::int64_t count = 3;
    const Tensor a = numbers(ta ? Shape{count, k, m} : Shape{count, m, k});
    const Tensor b = numbers(tb ? Shape{n, k} : Shape{k, n});
    Tensor want(DType::int64, {count, m, n});
    for (std::int64_t at = 0; at < want.shape().size(); ++at) {
      const std::int64_t w = at / (m * n), i = at / n % m, j = at % n;
      std::uint64_t sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const auto left = a.values<std::int64_t>()[static_cast<std::size_t>(
            w * m * k + (ta ? p * m + i : i * k + p))];
        const auto right =
            b.values<std::int64_t>()[static_cast<std::size_t>(tb ? j * k + p : p * n + j)];
        sum += static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right);
      }
      want.mutable_values<std::int64_t>()[static_cast<std::size_t>(at)] =
          static_cast<std::int64_t>(sum);
    }
    const graph::Attributes attributes{{"transA", std::int64_t{ta}}, {"transB", std::int64_t{tb}}};
    INFO(m << 'x' << n << 'x' << k << ' ' << ta << tb);
    CHECK(run_op_tensor(
              {.op = "MatMulT", .inputs = {a, b}, .attributes = attributes, .domain = "ai.ondine"})
              .identical(want));
  };
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      check(1, 1, 1, ta, tb);
      check(5, 3, 4, ta, tb);
      check(70, 33, 50, ta, tb);
      check(4, 3, 0, ta, tb);
    }
  }
}

TEST_CASE("MatMul sums 16-bit floats in float") {
  Tensor a(DType::float16, {1, 512});
  for (auto& x : a.mutable_values<float16>()) x.bits = 0x2e66;  // 0.09998
  const Tensor y = run_op_tensor({"MatMul", {a, a.reshaped({512, 1})}});
  CHECK(as_doubles(y)[0] == Approx(512 * 0.09998 * 0.09998).epsilon(1e-3));
}

TEST_CASE("MatMul names the inner dimensions that differ") {
  const OpCase bad{"MatMul", {random_tensor({2, 3}, 1), random_tensor({5, 2}, 2)}};
  CHECK_THROWS_WITH(run_op(bad), Catch::Contains("inner dimensions differ: 3 and 5"));
  CHECK_THROWS_AS(run_op({"MatMul", {Tensor::scalar(1.0), random_tensor({1}, 2)}}), Error);
}

TEST_CASE("Gemm scales, transposes and broadcasts C") {
  for (const std::int64_t ta : {0, 1}) {
    for (const std::int64_t tb : {0, 1}) {
      for (const Shape& c_shape : {Shape{}, {1}, {5}, {1, 5}, {3, 1}, {3, 5}, {1, 1}}) {
        for (const float beta : {1.0F, 0.5F, 0.0F}) {
          const Tensor a = random_tensor(ta ? Shape{4, 3} : Shape{3, 4}, 1);
          const Tensor b = random_tensor(tb ? Shape{5, 4} : Shape{4, 5}, 2);
          const Tensor c = random_tensor(c_shape, 3);
          const Tensor y =
              run_op_tensor({"Gemm",
                             {a, b, c},
                             {{"alpha", 2.0F}, {"beta", beta}, {"transA", ta}, {"transB", tb}}});
          Tensor want(DType::float64, {3, 5});
          const std::int64_t rows = c_shape.rank() > 1 ? c_shape[0] : 1;
          const std::int64_t columns = c_shape.rank() > 0 ? c_shape.back() : 1;
          for (std::int64_t i = 0; i < 3; ++i) {
            for (std::int64_t j = 0; j < 5; ++j) {
              double sum = 0;
              for (std::int64_t k = 0; k < 4; ++k) {
                sum += a.values<double>()[static_cast<std::size_t>(ta ? k * 3 + i : i * 4 + k)] *
                       b.values<double>()[static_cast<std::size_t>(tb ? j * 4 + k : k * 5 + j)];
              }
              const auto at = (rows == 1 ? 0 : i * columns) + (columns == 1 ? 0 : j);
              want.mutable_values<double>()[static_cast<std::size_t>(i * 5 + j)] =
                  2 * sum + double{beta} * c.values<double>()[static_cast<std::size_t>(at)];
            }
          }
          check_close(y, want);
        }
      }
    }
  }
}

TEST_CASE("Gemm works on integers and without C") {
  const auto a = Tensor::of<std::int64_t>({1, 2}, {2, 3});
  const auto b = Tensor::of<std::int64_t>({2, 1}, {5, 7});
  CHECK(run_op_tensor({"Gemm", {a, b}}).identical(Tensor::of<std::int64_t>({1, 1}, {31})));
  CHECK(run_op_tensor({"Gemm", {a, b, a.reshaped({2, 1})}, {{"transA", 1L}, {"transB", 1L}}})
            .identical(Tensor::of<std::int64_t>({2, 2}, {12, 16, 18, 24})));
}

TEST_CASE("Gemm rejects what does not fit") {
  const Tensor a = random_tensor({3, 4}, 1);
  CHECK_THROWS_WITH(run_op({"Gemm", {a, a}}), Catch::Contains("inner dimensions differ: 4 and 3"));
  const Tensor b = random_tensor({4, 5}, 1);
  CHECK_THROWS_WITH(run_op({"Gemm", {a, b, random_tensor({4}, 1)}}), Catch::Contains("C of shape"));
  const OpCase old{.op = "Gemm", .inputs = {a, b, random_tensor({5}, 1)}, .version = 6};
  CHECK_THROWS_WITH(run_op(old), Catch::Contains("C of shape"));
  CHECK_THROWS_AS(run_op({"Gemm", {random_tensor({2, 3, 4}, 1), b}}), Error);
}
TEST_CASE("MatMul's derivatives") {
  const std::vector<std::pair<Shape, Shape>> cases{
      {{3, 2}, {2, 4}}, {{2, 3, 2}, {2, 4}}, {{3, 2}, {2, 2, 4}}, {{2, 1, 3, 2}, {2, 2, 2}},
      {{2}, {2, 3}},    {{3, 2, 4}, {4}},    {{3}, {3}},          {{2}, {3, 2, 2}}};
  for (const auto& [a, b] : cases) {
    INFO(a.to_string() << " times " << b.to_string());
    check_gradient({"MatMul", {random_tensor(a, 1), random_tensor(b, 2)}});
  }
}

TEST_CASE("MatMulT transposes without copies and differentiates") {
  for (const std::int64_t ta : {0, 1}) {
    for (const std::int64_t tb : {0, 1}) {
      const Tensor a = random_tensor(ta ? Shape{2, 4, 3} : Shape{2, 3, 4}, 1);
      const Tensor b = random_tensor(tb ? Shape{5, 4} : Shape{4, 5}, 2);
      check_gradient({.op = "MatMulT",
                      .inputs = {a, b},
                      .attributes = {{"transA", ta}, {"transB", tb}},
                      .domain = "ai.ondine"});
      OpCase biased{.op = "MatMulT",
                    .inputs = {a, b, random_tensor({5}, 3)},
                    .attributes = {{"transA", ta}, {"transB", tb}},
                    .domain = "ai.ondine"};
      check_gradient(biased);
      const Tensor y = run_op_tensor(biased);
      biased.inputs.pop_back();
      check_close(y, run_op_tensor({"Add", {run_op_tensor(biased), random_tensor({5}, 3)}}));
    }
  }
}

TEST_CASE("MatMulT adds a tensor and a bias and applies an activation") {
  const std::string activation = GENERATE(as<std::string>(), "", "Relu", "Relu6");
  for (const Shape& b : {Shape{4, 5}, Shape{2, 4, 5}}) {
    const Tensor addend = random_tensor({2, 3, 5}, 4);
    const Tensor bias = random_tensor({5}, 3);
    for (const bool biased : {false, true}) {
      OpCase fused{.op = "MatMulT",
                   .inputs = {random_tensor({2, 3, 4}, 1), random_tensor(b, 2), Value(), addend},
                   .domain = "ai.ondine"};
      if (biased) fused.inputs[2] = bias;
      if (!activation.empty()) fused.attributes = {{"activation", activation}};
      Tensor wanted = run_op_tensor({"MatMul", {fused.inputs[0], fused.inputs[1]}});
      wanted = run_op_tensor({"Add", {wanted, addend}});
      if (biased) wanted = run_op_tensor({"Add", {wanted, bias}});
      if (!activation.empty()) wanted = run_op_tensor({"Relu", {wanted}});
      if (activation == "Relu6") {
        wanted = run_op_tensor({"Min", {wanted, Tensor::scalar(6.0)}});
      }
      check_close(run_op_tensor(fused), wanted);
      check_gradient(fused);
    }
  }
}

TEST_CASE("MatMulT of no terms is its addend and its bias") {
  const Tensor addend = random_tensor({2, 3}, 1);
  const Tensor bias = random_tensor({3}, 2);
  check_close(run_op_tensor({.op = "MatMulT",
                             .inputs = {Tensor(DType::float64, {2, 0}),
                                        Tensor(DType::float64, {0, 3}), bias, addend},
                             .domain = "ai.ondine"}),
              run_op_tensor({"Add", {addend, bias}}));
}

TEST_CASE("MatMulT rejects addends that are not of the shape of its result") {
  for (const Shape& addend : {Shape{5}, Shape{1, 5}, Shape{3, 1}, Shape{5, 3}, Shape{1, 3, 5}}) {
    CHECK_THROWS_AS(run_op({.op = "MatMulT",
                            .inputs = {random_tensor({3, 4}, 1), random_tensor({4, 5}, 2), Value(),
                                       random_tensor(addend, 3)},
                            .domain = "ai.ondine"}),
                    Error);
  }
}

TEST_CASE("MatMulT rejects biases that are not one number for each column") {
  for (const Shape& bias : {Shape{4}, Shape{1}, Shape{}, Shape{1, 5}}) {
    CHECK_THROWS_AS(run_op({.op = "MatMulT",
                            .inputs = {random_tensor({3, 4}, 1), random_tensor({4, 5}, 2),
                                       random_tensor(bias, 3)},
                            .domain = "ai.ondine"}),
                    Error);
  }
}

TEST_CASE("MatMulT of integers rejects a bias and an addend") {
  const Tensor a = Tensor::of<std::int64_t>({2, 1}, {1, 2});
  const Tensor b = Tensor::of<std::int64_t>({1, 2}, {3, 4});
  const Tensor bias = Tensor::of<std::int64_t>({2}, {5, 6});
  const Tensor addend = Tensor::of<std::int64_t>({2, 2}, {1, 1, 1, 1});
  const auto run = [&](std::vector<Value> inputs) {
    return run_op({.op = "MatMulT", .inputs = std::move(inputs), .domain = "ai.ondine"});
  };
  CHECK_NOTHROW(run({a, b}));
  CHECK_THROWS_AS(run({a, b, bias}), Error);
  CHECK_THROWS_AS(run({a, b, Value(), addend}), Error);
}

TEST_CASE("Gemm's derivatives") {
  for (const std::int64_t ta : {0, 1}) {
    for (const std::int64_t tb : {0, 1}) {
      check_gradient({"Gemm",
                      {random_tensor(ta ? Shape{2, 3} : Shape{3, 2}, 1),
                       random_tensor(tb ? Shape{4, 2} : Shape{2, 4}, 2), random_tensor({4}, 3)},
                      {{"alpha", 0.5F}, {"beta", 2.0F}, {"transA", ta}, {"transB", tb}}});
    }
  }
}
