#include "graph/ir/type.h"

#include <catch2/catch.hpp>

using namespace ondine;
using namespace ondine::graph;

namespace {

Type tensor(Dims dims) { return Type::tensor(DType::float32, std::move(dims)); }

}  // namespace

TEST_CASE("the join of two tensor types keeps the dims that are equal") {
  CHECK(join(tensor({2, 3}), tensor({2, 3})) == tensor({2, 3}));
  CHECK(join(tensor({2, 3}), tensor({4, 3})) == tensor({Dim(), 3}));
  CHECK_FALSE(join(tensor({2, 3}), tensor({2}))->ranked());
  CHECK_FALSE(join(tensor({2}), Type::tensor(DType::float64, Dims{2})));
  CHECK_FALSE(join(tensor({2}), Type::sequence(tensor({2}))));
}

TEST_CASE("the join with an empty sequence has the element type of the other") {
  const Type empty = Type::sequence(Type());
  const Type full = Type::sequence(tensor({2}));
  CHECK(join(empty, full) == full);
  CHECK(join(full, empty) == full);
  CHECK(join(empty, empty) == empty);
  CHECK(join(full, Type::sequence(tensor({3}))) == Type::sequence(tensor({Dim()})));
  CHECK_FALSE(join(full, Type::sequence(Type::tensor(DType::int64, Dims{2}))));
  CHECK(join(Type::optional(empty), Type::optional(full)) == Type::optional(full));
}
