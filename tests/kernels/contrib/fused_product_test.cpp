#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor transposed(const Tensor& x, std::vector<std::int64_t> perm) {
  return run_op_tensor({"Transpose", {x}, {{"perm", std::move(perm)}}});
}
Tensor standard(const std::string& op, std::vector<Value> inputs,
                graph::Attributes attributes = {}) {
  return run_op_tensor({op, std::move(inputs), std::move(attributes)});
}

}  // namespace

TEST_CASE("FusedMatMul is a product of transposed factors") {
  const Tensor a = random_tensor({2, 3, 4, 5}, 1);
  const Tensor b = random_tensor({2, 3, 5, 6}, 2);
  const Tensor want = standard("MatMul", {a, b});
  const auto got = [&](const Tensor& x, const Tensor& y, graph::Attributes attributes) {
    return run_op_tensor({"FusedMatMul", {x, y}, std::move(attributes), 1, contrib});
  };
  check_close(got(a, b, {}), want);
  check_close(got(a, b, {{"alpha", -0.5F}}), standard("Mul", {want, Tensor::scalar(-0.5)}));
  const Tensor at = transposed(a, {0, 1, 3, 2});
  const Tensor bt = transposed(b, {0, 1, 3, 2});
  check_close(got(at, b, {{"transA", 1L}}), want);
  check_close(got(at, bt, {{"transA", 1L}, {"transB", 1L}}), want);
  check_close(got(transposed(a, {2, 0, 1, 3}), b, {{"transBatchA", 1L}}), want);
  check_close(got(a, transposed(b, {3, 0, 1, 2}), {{"transBatchB", 1L}, {"transB", 1L}}), want);
  const Tensor v = random_tensor({5}, 3);
  check_close(got(v, bt, {{"transA", 1L}, {"transB", 1L}}), standard("MatMul", {v, b}));
  CHECK_THROWS_AS(got(at, b, {}), Error);
  const Tensor whole = Tensor::of<std::int32_t>({1, 1}, {2});
  CHECK_THROWS_WITH(got(whole, whole, {}),
                    Catch::Contains("needed: float, double, float16 or bfloat16"));
  const Tensor one = random_tensor({1, 1}, 4);
  CHECK_THROWS_WITH(got(one, run_op_tensor({"Cast", {one}, {{"to", 1L}}}), {}),
                    Catch::Contains("double"));
  // Axis 0 of a matrix is no batch.
  const Tensor matrix = random_tensor({4, 5}, 5);
  const Tensor other = random_tensor({5, 2}, 6);
  check_close(got(matrix, other, {{"transBatchA", 1L}, {"transBatchB", 1L}}),
              standard("MatMul", {matrix, other}));
  check_gradient({"FusedMatMul",
                  {random_tensor({2, 4, 3}, 1), random_tensor({2, 5, 4}, 2)},
                  {{"transA", 1L}, {"transB", 1L}, {"alpha", 1.5F}},
                  1,
                  contrib},
                 {.elements = 8});
  check_gradient({"FusedMatMul",
                  {random_tensor({3, 2, 4}, 1), random_tensor({2, 4, 5}, 2)},
                  {{"transBatchA", 1L}},
                  1,
                  contrib},
                 {.elements = 8});
}

TEST_CASE("FusedGemm is an activation of Gemm") {
  const Tensor a = random_tensor({5, 4}, 1);
  const Tensor b = random_tensor({5, 6}, 2);
  const Tensor c = random_tensor({6}, 3);
  const graph::Attributes gemm{{"transA", 1L}, {"alpha", 0.5F}, {"beta", 2.0F}};
  const Tensor y = standard("Gemm", {a, b, c}, gemm);
  const auto got = [&](const char* name, graph::Attributes more) {
    graph::Attributes all = gemm;
    all.emplace_back("activation", std::string(name));
    all.insert(all.end(), more.begin(), more.end());
    return run_op_tensor({"FusedGemm", {a, b, c}, all, 1, contrib});
  };
  check_close(got("", {}), y);
  for (const char* name :
       {"Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish", "Selu"}) {
    check_close(got(name, {}), standard(name, {y}));
  }
  for (const char* name : {"LeakyRelu", "Elu", "ThresholdedRelu"}) {
    check_close(got(name, {{"activation_alpha", 0.3F}}), standard(name, {y}, {{"alpha", 0.3F}}));
  }
  check_close(got("HardSigmoid", {{"activation_alpha", 0.3F}, {"activation_beta", 0.4F}}),
              standard("HardSigmoid", {y}, {{"alpha", 0.3F}, {"beta", 0.4F}}));
  CHECK_THROWS_AS(got("Cube", {}), Error);
  CHECK_THROWS_AS(got("HardSigmoid", {{"activation_alpha", 0.3F}}), Error);
  graph::Attributes tanh = gemm;
  tanh.emplace_back("activation", std::string("Tanh"));
  check_gradient({"FusedGemm", {a, b, c}, tanh, 1, contrib}, {.elements = 8});
}

TEST_CASE("FusedConv is an activation of Conv plus Z") {
  const Tensor x = random_tensor({2, 4, 5, 6}, 1);
  const Tensor w = random_tensor({6, 2, 3, 3}, 2);
  const Tensor b = random_tensor({6}, 3);
  const Tensor z = random_tensor({2, 6, 5, 6}, 4);
  const graph::Attributes conv{{"group", 2L}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  graph::Attributes relu = conv;
  relu.emplace_back("activation", std::string("Relu"));
  graph::Attributes clip = conv;
  clip.emplace_back("activation", std::string("Clip"));
  const Tensor y = standard("Conv", {x, w, b}, conv);
  check_close(run_op_tensor({"FusedConv", {x, w, b}, relu, 1, contrib}), standard("Relu", {y}));
  check_close(run_op_tensor({"FusedConv", {x, w, b, z}, relu, 1, contrib}),
              standard("Relu", {standard("Add", {y, z})}));
  CHECK_THROWS_AS(run_op({"FusedConv", {x, w, b}, clip, 1, contrib}), Error);
  clip.emplace_back("activation_params", std::vector<float>{-0.5F, 2});
  check_close(run_op_tensor({"FusedConv", {x, w, b}, clip, 1, contrib}),
              standard("Clip", {y, Tensor::scalar(-0.5), Tensor::scalar(2.0)}));
  graph::Attributes tanh{{"activation", std::string("Tanh")}};
  check_gradient({"FusedConv",
                  {random_tensor({1, 2, 3, 4}, 1), random_tensor({3, 2, 2, 2}, 2, -0.5, 0.5),
                   random_tensor({3}, 3), random_tensor({1, 3, 2, 3}, 4)},
                  tanh,
                  1,
                  contrib},
                 {.dynamic_dims = false, .elements = 6, .variants = false});
}

TEST_CASE("NhwcConv is Conv with the channels last") {
  const Tensor x = random_tensor({2, 5, 6, 4}, 1);
  const Tensor w = random_tensor({6, 2, 3, 3}, 2);
  const Tensor b = random_tensor({6}, 3);
  const graph::Attributes conv{{"group", 2L}, {"strides", std::vector<std::int64_t>{2, 1}}};
  check_close(
      run_op_tensor({"NhwcConv", {x, w, b}, conv, 1, contrib}),
      transposed(standard("Conv", {transposed(x, {0, 3, 1, 2}), w, b}, conv), {0, 2, 3, 1}));
  check_gradient(
      {"NhwcConv",
       {random_tensor({1, 4, 3, 2}, 1), random_tensor({3, 2, 2, 2}, 2), random_tensor({3}, 3)},
       {},
       1,
       contrib},
      {.dynamic_dims = false, .elements = 6, .variants = false});
}
