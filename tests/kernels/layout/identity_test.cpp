#include <catch2/catch.hpp>

#include "tests/kernels/common/refusals.h"
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

TEST_CASE("RequireRank gives back what has one of its ranks") {
  const auto checked = [](const Value& x) {
    return OpCase{.op = "RequireRank",
                  .inputs = {x},
                  .attributes = {{"ranks", std::vector<std::int64_t>{1, 3}},
                                 {"needed", std::string("x must be a row or a cube")}},
                  .domain = "ai.ondine",
                  .version = 1};
  };
  for (const Shape& shape : {Shape{3}, Shape{2, 1, 3}, Shape{0}}) {
    const Tensor x = random_tensor(shape, 1);
    CHECK(run_op_tensor(checked(x)).identical(x));
  }
  const Tensor words = Tensor::of<std::string>({2}, {"a", "b"});
  CHECK(run_op_tensor(checked(words)).identical(words));
  check_gradient(checked(random_tensor({2, 1, 3}, 2)));
  check_refusals({
      {checked(f32({})), "x must be a row or a cube, found []"},
      {checked(f32({2, 3})), "x must be a row or a cube, found [2, 3]"},
  });
}
