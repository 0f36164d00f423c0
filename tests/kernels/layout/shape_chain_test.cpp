#include <array>

#include <catch2/catch.hpp>

#include "graph/contract/clipped_dim.h"
#include "graph/contract/ops.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

// A graph with one float input [N, 3, T, 8] whose dims N and T are symbolic.
struct Setup {
  Graph graph;
  Builder b{graph, catalogue()};
  Dim n = Dim::symbolic(0);
  Dim t = Dim::symbolic(1);
  Val x = b.value(graph.add_value("x", Type::tensor(DType::float32, Dims{n, 3, t, 8})));
};

}  // namespace

TEST_CASE("Dims stay known through Shape, Gather, Unsqueeze, Concat and Reshape") {
  Setup s;
  const Val shape = unary("Shape", s.x);
  const Val batch = s.b.node("Gather", {shape, s.b.int64(0)});
  const std::array parts{unsqueeze(batch, {0}), s.b.int64s({-1}), slice(shape, 3, 4, 0)};
  const Val y = s.b.node("Reshape", {s.x, concat(parts, 0)});
  CHECK(y.dims()[0].same(s.n));
  CHECK_FALSE(y.dims()[1].known());
  CHECK(y.dims()[2].same(8));

  const std::array known{slice(shape, 0, 1, 0), s.b.int64s({24}), slice(shape, -2, -1, 0)};
  const Val z = s.b.node("Reshape", {s.x, concat(known, 0)});
  CHECK(z.dims() == Dims{s.n, 24, s.t});
}

TEST_CASE("Reshape finds the dim of -1 when the others cancel") {
  Setup s;
  CHECK(reshape(s.x, {-1, 24}).dims() == Dims{Dim(), 24});
  CHECK(reshape(s.x, {0, 24, -1}).dims() == Dims{s.n, 24, s.t});
  CHECK(reshape(s.x, {0, 0, 0, 2, -1}).dims() == Dims{s.n, 3, s.t, 2, 4});
  const Val flat = s.b.value(s.graph.add_value("f", Type::tensor(DType::float32, Dims{s.n, 4, 5})));
  CHECK(reshape(flat, {-1, 20}).dims() == Dims{s.n, 20});
  CHECK(reshape(flat, {-1, 10}).dims() == Dims{Dim::multiple(2, 0), 10});
  CHECK(reshape(flat, {-1, 40}).dims() == Dims{Dim(), 40});
}

TEST_CASE("Dims stay known through Squeeze, ReduceProd, Split and Range") {
  Setup s;
  const Val shape = unary("Shape", s.x);
  const auto pieces = s.b.nodes("Split", std::array{shape}, {{"num_outputs", std::int64_t{4}}}, 4);
  CHECK(pieces[2].type().shape() == Shape{1});
  const Val batch = squeeze(slice(shape, 0, 1, 0), {0});
  CHECK(batch.rank() == 0);
  const Val range = s.b.node("Range", {s.b.int64(0), batch, s.b.int64(1)});
  CHECK(range.dims()[0].same(s.n));
  const Val inner = s.b.node("ReduceProd", {s.b.node("Gather", {shape, s.b.int64s({1, 3})})},
                             {{"keepdims", std::int64_t{0}}});
  REQUIRE(s.graph[inner.id()].constant->defined());
  CHECK(s.graph[inner.id()].constant->values<std::int64_t>()[0] == 24);
}

TEST_CASE("Expand and Slice keep symbolic dims") {
  Setup s;
  const Val one = s.b.value(s.graph.add_value("one", Type::tensor(DType::float32, Dims{1, 1})));
  CHECK(expand(one, slice(unary("Shape", s.x), 0, 2, 0)).dims() == Dims{s.n, 3});
  CHECK(slice(s.x, 0, INT64_MAX, 2).dims() == Dims{s.n, 3, s.t, 8});
  const Val length = dim_of(s.x, 2);
  const Val mask = s.b.value(s.graph.add_value("m", Type::tensor(DType::float32, Dims{512, 8})));
  const Val cut = s.b.node("Slice", {mask, s.b.int64s({0}), length, s.b.int64s({0})});
  const auto clipped = graph::clipped_dim(cut.dims()[0]);
  REQUIRE(clipped);
  CHECK(clipped->length.same(s.t));
  CHECK(clipped->bound == 512);
  CHECK(cut.dims()[1] == Dim(8));
  const Val all = s.b.node("Slice", {s.x, s.b.int64s({0}), length, s.b.int64s({2})});
  CHECK(all.dims() == Dims{s.n, 3, s.t, 8});
  CHECK(sum_to(s.x, one).dims() == Dims{1, 1});
}
