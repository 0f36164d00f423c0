#include <catch2/catch.hpp>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("Identity gives back what it gets") {
  const Tensor x = random_tensor({2, 3}, 1);
  CHECK(run_op_tensor({.op = "Identity", .inputs = {x}}).identical(x));
  const Value pair = Value::sequence({x, x});
  CHECK(run_op({.op = "Identity", .inputs = {pair}})[0].elements().size() == 2);
}

TEST_CASE("Shape gives the dims between start and end") {
  const Tensor x(DType::float32, {2, 0, 5});
  const auto shape = run_op_tensor({.op = "Shape", .inputs = {x}, .attributes = {{"start", -2L}}});
  CHECK(shape.identical(Tensor::of<std::int64_t>({2}, {0, 5})));
}
