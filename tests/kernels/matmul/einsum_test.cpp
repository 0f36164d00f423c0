#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

OpCase einsum(const std::string& equation, std::vector<Value> operands) {
  return {"Einsum", std::move(operands), {{"equation", equation}}};
}
Tensor values(const Shape& shape, std::vector<double> v) { return Tensor::of<double>(shape, v); }

}  // namespace

TEST_CASE("Einsum is many operators in one") {
  const Tensor a = random_tensor({2, 3}, 1);
  const Tensor b = random_tensor({3, 4}, 2);
  const Tensor batch = random_tensor({5, 2, 3}, 3);
  const Tensor product = run_op_tensor({"MatMul", {a, b}});
  check_close(run_op_tensor(einsum("ij,jk->ik", {a, b})), product);
  check_close(run_op_tensor(einsum(" ij , jk ", {a, b})), product);
  check_close(run_op_tensor(einsum("...ij,jk", {batch, b})), run_op_tensor({"MatMul", {batch, b}}));
  check_close(run_op_tensor(einsum("...ij,...jk->...ik", {batch, b})),
              run_op_tensor({"MatMul", {batch, b}}));
  check_close(run_op_tensor(einsum("ij->ji", {a})), run_op_tensor({"Transpose", {a}}));
  check_close(run_op_tensor(einsum("ba", {a})), run_op_tensor({"Transpose", {a}}));
  check_close(run_op_tensor(einsum("ij->", {a})),
              run_op_tensor({"ReduceSum", {a}, {{"keepdims", 0L}}}));
  check_close(run_op_tensor(einsum("ij,ij->ij", {a, a})), run_op_tensor({"Mul", {a, a}}));
  const Tensor m = values({2, 2}, {1, 2, 3, 4});
  check_close(run_op_tensor(einsum("ii", {m})), Tensor::scalar(5.0));
  check_close(run_op_tensor(einsum("ii->i", {m})), values({2}, {1, 4}));
  const Tensor u = values({2}, {1, 2});
  const Tensor v = values({3}, {3, 4, 5});
  check_close(run_op_tensor(einsum("i,j->ji", {u, v})), values({3, 2}, {3, 6, 4, 8, 5, 10}));
  check_close(run_op_tensor(einsum("i,i,ij->j", {u, u, m})), values({2}, {13, 18}));
  check_close(run_op_tensor(einsum("bij,bkj->bik", {batch, batch})),
              run_op_tensor({.op = "MatMulT",
                             .inputs = {batch, batch},
                             .attributes = {{"transB", 1L}},
                             .domain = "ai.ondine"}));
}

TEST_CASE("Einsum of integers, of scalars and of nothing") {
  const auto n = Tensor::of<std::int8_t>({2, 2}, {100, 2, 3, 4});
  CHECK(run_op_tensor(einsum("ij,kj->ik", {n, n}))
            .identical(Tensor::of<std::int8_t>({2, 2}, {static_cast<std::int8_t>(10004 - 39 * 256),
                                                        static_cast<std::int8_t>(308 - 256),
                                                        static_cast<std::int8_t>(308 - 256), 25})));
  check_close(run_op_tensor(einsum(",->", {Tensor::scalar(2.0), Tensor::scalar(3.0)})),
              Tensor::scalar(6.0));
  const Tensor none(DType::float64, {2, 0});
  check_close(run_op_tensor(einsum("ij,kj->ik", {none, none})), Tensor(DType::float64, {2, 2}));
}

TEST_CASE("Einsum rejects equations and operands that do not fit") {
  const Tensor a = random_tensor({2, 3}, 1);
  for (const char* bad : {"ij,jk->ik", "ij->ik", "ij->ii", "i->i", "ijk->i", "i.j->i", "i1->i",
                          "......->", "..->", "ii->i"}) {
    INFO(bad);
    CHECK_THROWS_AS(run_op(einsum(bad, {a})), Error);
  }
  CHECK_THROWS_AS(run_op(einsum("ij,jk->ik", {a, a})), Error);
}

TEST_CASE("Derivatives of Einsum") {
  const Tensor a = random_tensor({2, 3}, 1);
  const Tensor b = random_tensor({3, 2}, 2);
  const Tensor batch = random_tensor({2, 2, 3}, 3);
  check_gradient(einsum("ij,jk->ik", {a, b}));
  check_gradient(einsum("...ij,jk->...k", {batch, b}));
  check_gradient(einsum("...j,...j", {batch, a}));
  check_gradient(einsum("...,...", {random_tensor({2, 1}, 1), random_tensor({3}, 2)}));
  check_gradient(einsum("ij->", {a}));
  check_gradient(einsum("ij->j", {a}));
  check_gradient(einsum("ii->i", {random_tensor({3, 3}, 1)}));
  check_gradient(einsum("iij,j->", {random_tensor({2, 2, 3}, 1), random_tensor({3}, 2)}));
  check_gradient(einsum("ij,ij,jk->k", {a, a, b}));
}
