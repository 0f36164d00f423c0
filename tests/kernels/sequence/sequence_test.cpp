#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Value sequence(std::vector<Tensor> tensors) {
  return Value::sequence({tensors.begin(), tensors.end()});
}

Tensor at(std::int64_t position) { return Tensor::scalar(position); }

std::vector<Value> elements(const OpCase& op_case) { return run_op(op_case).at(0).elements(); }

const Tensor a = iota({2, 2});
const Tensor b = iota({1, 2});
const Tensor c = iota({3});

}  // namespace

TEST_CASE("Sequences are built from tensors") {
  const auto both = elements({.op = "SequenceConstruct", .inputs = {a, b}});
  REQUIRE(both.size() == 2);
  CHECK(both[0].tensor().identical(a));
  CHECK(both[1].tensor().identical(b));
  CHECK(elements({.op = "SequenceEmpty", .inputs = {}, .attributes = {{"dtype", 7L}}}).empty());
  CHECK(as_doubles(run_op_tensor({.op = "SequenceLength", .inputs = {sequence({a, b, c})}})) ==
        std::vector<double>{3});
  CHECK_THROWS_AS(elements({.op = "SequenceConstruct", .inputs = {a, iota<double>({1})}}), Error);
  CHECK_THROWS_AS(elements({.op = "SequenceEmpty", .inputs = {}, .attributes = {{"dtype", 99L}}}),
                  Error);
}

TEST_CASE("SequenceAt counts from both ends") {
  const Value abc = sequence({a, b, c});
  CHECK(run_op_tensor({.op = "SequenceAt", .inputs = {abc, at(1)}}).identical(b));
  CHECK(run_op_tensor({.op = "SequenceAt", .inputs = {abc, at(-1)}}).identical(c));
  CHECK(run_op_tensor({.op = "SequenceAt", .inputs = {sequence({b, b}), at(0)}}).identical(b));
  CHECK_THROWS_WITH(run_op({.op = "SequenceAt", .inputs = {abc, at(3)}}),
                    Catch::Contains("position 3"));
  CHECK_THROWS_AS(run_op({.op = "SequenceAt", .inputs = {abc, at(-4)}}), Error);
}

TEST_CASE("SequenceInsert and SequenceErase take a position") {
  const Value ab = sequence({a, b});
  const auto inserted = [&](Value position) {
    std::size_t found = 0;
    const auto result = elements({.op = "SequenceInsert", .inputs = {ab, c, std::move(position)}});
    REQUIRE(result.size() == 3);
    while (!result[found].tensor().identical(c)) ++found;
    return found;
  };
  CHECK(inserted({}) == 2);
  CHECK(inserted(at(2)) == 2);
  CHECK(inserted(at(0)) == 0);
  CHECK(inserted(at(-1)) == 1);
  CHECK(inserted(Tensor::scalar<std::int32_t>(1)) == 1);
  CHECK_THROWS_AS(inserted(at(3)), Error);
  CHECK_THROWS_AS(inserted(at(-3)), Error);
  CHECK_THROWS_AS(elements({.op = "SequenceInsert", .inputs = {ab, iota<double>({1})}}), Error);

  const Value abc = sequence({a, b, c});
  CHECK(elements({.op = "SequenceErase", .inputs = {abc}})[1].tensor().identical(b));
  CHECK(elements({.op = "SequenceErase", .inputs = {abc, at(-3)}})[0].tensor().identical(b));
  CHECK_THROWS_AS(elements({.op = "SequenceErase", .inputs = {abc, at(3)}}), Error);
}

TEST_CASE("SplitToSequence cuts and ConcatFromSequence joins") {
  const Tensor x = iota({2, 5});
  const auto sizes = [&](Value split, graph::Attributes attributes) {
    attributes.emplace_back("axis", std::int64_t{-1});
    const auto parts = elements(
        {.op = "SplitToSequence", .inputs = {x, std::move(split)}, .attributes = attributes});
    const Tensor back = run_op_tensor({.op = "ConcatFromSequence",
                                       .inputs = {Value::sequence(parts)},
                                       .attributes = {{"axis", std::int64_t{1}}}});
    CHECK(back.identical(x));
    Int64s out;
    for (const Value& part : parts) out.push_back(part.tensor().shape()[1]);
    return out;
  };
  CHECK(sizes(at(2), {}) == Int64s{2, 2, 1});
  CHECK(sizes(int64s({1, 0, 4}), {}) == Int64s{1, 0, 4});
  CHECK(sizes({}, {}) == Int64s{1, 1, 1, 1, 1});
  CHECK_THROWS_AS(sizes(at(0), {}), Error);
  CHECK_THROWS_AS(sizes(int64s({1, 3}), {}), Error);
  CHECK_THROWS_AS(sizes(int64s({6, -1}), {}), Error);

  const auto rows = elements(
      {.op = "SplitToSequence", .inputs = {x}, .attributes = {{"keepdims", std::int64_t{0}}}});
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].tensor().shape() == Shape{5});
  const Tensor stacked = run_op_tensor({.op = "ConcatFromSequence",
                                        .inputs = {Value::sequence(rows)},
                                        .attributes = {{"axis", -1L}, {"new_axis", 1L}}});
  CHECK(stacked.identical(moved<float>(x, {5, 2}, [](const Int64s& i) {
    return Int64s{i[1], i[0]};
  })));
}

TEST_CASE("ConcatFromSequence rejects what cannot be joined") {
  const auto join = [](std::vector<Tensor> tensors, std::int64_t axis) {
    return run_op({.op = "ConcatFromSequence",
                   .inputs = {sequence(std::move(tensors))},
                   .attributes = {{"axis", axis}}});
  };
  CHECK(join({a, b}, 0)[0].tensor().shape() == Shape{3, 2});
  CHECK_THROWS_AS(join({a, b}, 1), Error);
  CHECK_THROWS_AS(join({a, c}, 0), Error);
  CHECK_THROWS_AS(join({a, b}, 2), Error);
  CHECK_THROWS_AS(join({}, 0), Error);
}

TEST_CASE("Optionals hold a value or nothing") {
  const Value some = run_op({.op = "Optional", .inputs = {a}})[0];
  REQUIRE(some.has_element());
  CHECK(run_op_tensor({.op = "OptionalGetElement", .inputs = {some}}).identical(a));
  CHECK(run_op_tensor({.op = "OptionalGetElement", .inputs = {a}}).identical(a));
  const auto has = [](Value value) {
    return as_doubles(run_op_tensor({.op = "OptionalHasElement", .inputs = {std::move(value)}}))[0];
  };
  CHECK(has(some) == 1);
  CHECK(has(Value::optional()) == 0);
  CHECK(has(a) == 1);
  CHECK(has({}) == 0);
  graph::TypeDef type;
  type.kind = graph::TypeKind::tensor;
  type.dtype = DType::float32;
  const auto none = run_op({.op = "Optional", .inputs = {}, .attributes = {{"type", type}}});
  CHECK_FALSE(none[0].has_element());
  CHECK_THROWS_AS(run_op({.op = "OptionalGetElement", .inputs = {Value::optional()}}), Error);
  CHECK_THROWS_AS(run_op({.op = "Optional", .inputs = {}}), Error);
  const Value nested = run_op({.op = "Optional", .inputs = {sequence({a, b})}})[0];
  CHECK(run_op({.op = "OptionalGetElement", .inputs = {nested}})[0].elements().size() == 2);
}
