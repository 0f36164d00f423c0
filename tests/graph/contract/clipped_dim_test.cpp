// The size of the first elements, as many as a symbol says, of some.
#include "graph/contract/clipped_dim.h"

#include <catch2/catch.hpp>

#include "graph/contract/infer.h"
#include "graph/print/format.h"

using namespace ondine;
using namespace ondine::graph;

TEST_CASE("a clipped dim is a symbol of its own, told apart by length and bound") {
  const Dim n = Dim::symbolic(3), m = Dim::symbolic(4);
  const Dim part = clipped(n, 64);
  CHECK(part.is_symbolic());
  CHECK(part.same(clipped(n, 64)));
  for (const Dim other : {n, m, Dim(64), clipped(n, 63), clipped(m, 64)}) {
    CHECK_FALSE(part.same(other));
  }
  const auto made_of = clipped_dim(part);
  REQUIRE(made_of.has_value());
  CHECK(made_of->length.same(n));
  CHECK(made_of->bound == 64);
  for (const Dim other : {n, Dim(64), Dim(), Dim::multiple(2, 3)}) {
    CHECK_FALSE(clipped_dim(other).has_value());
  }
}

TEST_CASE("what a clipped dim has no room for is dynamic") {
  const Dim n = Dim::symbolic(3);
  for (const Dim dim :
       {clipped(Dim(), 64), clipped(Dim(5), 64), clipped(Dim::multiple(2, 3), 64), clipped(n, 1),
        clipped(n, 0), clipped(n, std::int64_t{1} << 20), clipped(Dim::symbolic(1 << 11), 64)}) {
    CHECK((!dim.known() && !dim.has_symbol()));
  }
  for (const Dim dim : {clipped(n, (std::int64_t{1} << 20) - 1), clipped(n, 2),
                        clipped(Dim::symbolic((1 << 11) - 1), 64)}) {
    CHECK(clipped_dim(dim).has_value());
  }
}

TEST_CASE("a clipped dim is clipped again to the smaller bound") {
  const Dim n = Dim::symbolic(3);
  CHECK(clipped(clipped(n, 64), 32).same(clipped(n, 32)));
  CHECK(clipped(clipped(n, 32), 64).same(clipped(n, 32)));
  CHECK(clipped(clipped(n, 64), 1) == Dim());
}

TEST_CASE("a clipped dim broadcasts to its length alone") {
  const Dim n = Dim::symbolic(3), m = Dim::symbolic(4);
  const Dim part = clipped(n, 64);
  CHECK(broadcast({part}, {n}) == Dims{n});
  CHECK(broadcast({n, 8}, {part, 1}) == Dims{n, 8});
  CHECK(broadcast({part}, {1}) == Dims{part});
  CHECK(broadcast({part}, {part}) == Dims{part});
  CHECK(broadcast({part}, {m}) == Dims{Dim()});
  CHECK(broadcast({part}, {clipped(n, 32)}) == Dims{Dim()});
}
