#include "kernels/common/integer_parameters.h"

#include <catch2/catch.hpp>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::kernels;
using namespace ondine::test;

TEST_CASE("integers are known where they are constant, absent or none") {
  graph::Graph graph;
  graph::Builder builder(graph, catalogue());
  using Ints = std::vector<std::int64_t>;
  const auto input = [&](graph::Type type) {
    return builder.value(graph.add_temporary("p", std::move(type)));
  };
  CHECK(constant_integers(graph::Val()) == Ints{});
  CHECK(constant_integers(builder.int64s({3, -1})) == Ints{3, -1});
  CHECK(constant_integers(builder.constant(Tensor::of<std::int32_t>({2}, {7, 8}))) == Ints{7, 8});
  CHECK(constant_integers(input(graph::Type::tensor(DType::int64, Shape{0}))) == Ints{});
  CHECK_FALSE(constant_integers(input(graph::Type::tensor(DType::int64, Shape{1}))));
  CHECK_FALSE(constant_integers(input(graph::Type::tensor(DType::int64, Shape{2}))));
  CHECK_FALSE(constant_integers(input(graph::Type::tensor(DType::int64, graph::Dims{{}}))));
  CHECK_FALSE(constant_integers(input(graph::Type::tensor(DType::int64))));
}
