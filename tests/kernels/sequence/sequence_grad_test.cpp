#include <catch2/catch.hpp>

#include "graph/contract/ops.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

TEST_CASE("Derivatives flow through sequences that are built, changed and joined") {
  check_gradient(
      [](Builder& b, std::span<const Val> xs) -> std::vector<Val> {
        const Val x = xs[0];
        const Val rows = b.node("SplitToSequence", {x, b.int64(2)});
        const Val first = b.node("SequenceAt", {rows, b.int64(0)});
        const Val longer = b.node("SequenceInsert", {rows, first * first, b.int64(-1)});
        const Val all = b.node("ConcatFromSequence", {longer}, {{"axis", std::int64_t{0}}});
        return {all * all};
      },
      {random_tensor({5, 2}, 1)});
}

TEST_CASE("Derivatives flow through erased elements and new axes") {
  check_gradient(
      [](Builder& b, std::span<const Val> xs) -> std::vector<Val> {
        const Val x = xs[0];
        const Val rows = b.node("SplitToSequence", {x}, {{"keepdims", std::int64_t{0}}});
        const Val fewer = b.node("SequenceErase", {rows, b.int64(-3)});
        const Val last =
            b.node("SequenceErase", {b.node("SequenceInsert", {fewer, slice(x, 0, 1, 0)})});
        const Val all = b.node("ConcatFromSequence", {last},
                               {{"axis", std::int64_t{1}}, {"new_axis", std::int64_t{1}}});
        return {all * all * all};
      },
      {random_tensor({4, 3}, 1)});
}

TEST_CASE("Derivatives by a sequence that is used twice add up") {
  check_gradient(
      [](Builder& b, std::span<const Val> xs) -> std::vector<Val> {
        const Val x = xs[0];
        const Val pair = b.node("SequenceConstruct", {x, x * x});
        const Val one = b.node("SequenceAt", {pair, b.int64(0)});
        const Val two = b.node("SequenceAt", {pair, b.int64(-1)});
        return {one * two + b.node("SequenceAt", {pair, b.int64(1)})};
      },
      {random_tensor({3}, 1)});
}

TEST_CASE("Derivatives flow through optionals") {
  check_gradient(
      [](Builder&, std::span<const Val> xs) -> std::vector<Val> {
        const Val x = xs[0];
        const Val held = unary("Optional", x * x);
        return {unary("OptionalGetElement", held) * unary("OptionalGetElement", held) +
                unary("OptionalGetElement", x)};
      },
      {random_tensor({3}, 1)});
}
