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

TEST_CASE("RequireDims gives back what has the dims of its other input, or given ones") {
  const auto checked = [](std::vector<Value> inputs, graph::Attributes attributes) {
    attributes.emplace_back("what", std::string("sizes"));
    return OpCase{"RequireDims", std::move(inputs), std::move(attributes), 1, "ai.ondine", 1};
  };
  const Tensor x = random_tensor({2, 1, 3}, 1);
  const graph::Attributes rows{list("axes", {0, -1}), list("like_axes", {1, 0})};
  const graph::Attributes sizes{list("axes", {1, 2}), list("sizes", {1, 3})};
  const graph::Attributes multiple{list("axes", {2}), number("multiple_of", 3)};
  for (const OpCase& fits : {checked({x, f32({2, 1, 3})}, {}), checked({x, i64({3, 2})}, rows),
                             checked({x}, sizes), checked({x}, multiple)}) {
    CHECK(run_op_tensor(fits).identical(x));
  }
  const Tensor words = Tensor::of<std::string>({2}, {"a", "b"});
  CHECK(run_op_tensor(checked({words, f32({2})}, {})).identical(words));
  check_gradient(checked({x, f32({2, 1, 3})}, {}));
  check_refusals({
      {checked({x, f32({2, 1, 1})}, {}), "sizes differ: 3 and 1"},
      {checked({x, f32({2, 1})}, {}), "sizes differ: [2, 1, 3] and [2, 1]"},
      {checked({x, i64({3, 1})}, rows), "sizes differ: 2 and 1"},
      {checked({f32({2, 2, 3})}, sizes), "sizes differ: 2 and 1"},
      {checked({f32({2, 1, 4})}, multiple), "sizes: 4 is not a multiple of 3"},
  });
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
