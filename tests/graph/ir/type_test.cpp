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

TEST_CASE("the join of optionals, sequences and maps joins what they hold") {
  const Type map = Type::map(DType::int64, tensor({2}));
  CHECK(join(map, Type::map(DType::int64, tensor({3}))) ==
        Type::map(DType::int64, tensor({Dim()})));
  CHECK_FALSE(join(map, Type::map(DType::string, tensor({2}))));
  CHECK_FALSE(join(Type::optional(tensor({2})), Type::sequence(tensor({2}))));
  const Dim n = Dim::symbolic(0);
  CHECK(join(tensor({n, 2}), tensor({n, Dim::symbolic(1)})) == tensor({n, Dim()}));
  CHECK(join(Type(), Type()) == Type());
  CHECK_FALSE(join(Type(), tensor({2})));
  Type open;
  open.kind = TypeKind::sequence;  // its elements are unknown
  CHECK(join(open, Type::sequence(tensor({2}))) == open);
}

TEST_CASE("types are compatible unless kinds, element types, ranks or known dims differ") {
  const Type open = Type::tensor(DType::float32);
  const Type wide = Type::tensor(DType::float64, Dims{2});
  const Type some = Type::tensor(DType::undefined, Dims{2});
  const Dim n = Dim::symbolic(0);
  struct Row {
    Type a, b;
    bool compatible;
  };
  for (const Row& row : std::vector<Row>{
           {Type(), tensor({2}), true},
           {tensor({2}), tensor({2}), true},
           {tensor({2}), tensor({3}), false},
           {tensor({2, 3}), tensor({2, 4}), false},
           {tensor({2, 3}), tensor({2, Dim()}), true},
           {tensor({2, 3}), tensor({n, 3}), true},
           {tensor({n}), tensor({Dim::symbolic(1)}), true},
           {tensor({2}), tensor({2, 1}), false},
           {tensor({}), tensor({1}), false},
           {tensor({2}), open, true},
           {tensor({2}), wide, false},
           {tensor({2}), some, true},
           {tensor({3}), some, false},
           {tensor({2}), Type::sequence(tensor({2})), false},
           {Type::sequence(tensor({2})), Type::optional(tensor({2})), false},
           {Type::sequence(tensor({2})), Type::sequence(tensor({3})), false},
           {Type::sequence(tensor({2})), Type::sequence(Type()), true},
           {Type::map(DType::int64, tensor({2})), Type::map(DType::string, tensor({2})), false},
       }) {
    INFO(to_string(row.a) << " and " << to_string(row.b));
    CHECK(compatible(row.a, row.b) == row.compatible);
    CHECK(compatible(row.b, row.a) == row.compatible);
  }
}

TEST_CASE("merged types have what either of them knows") {
  const Dim n = Dim::symbolic(0);
  const Dim m = Dim::symbolic(1);
  struct Row {
    Type a, b, merged;
  };
  for (const Row& row : std::vector<Row>{
           {Type(), tensor({2}), tensor({2})},
           {tensor({2}), Type(), tensor({2})},
           {tensor({2, Dim()}), tensor({Dim(), 3}), tensor({2, 3})},
           {tensor({n, 2}), tensor({4, n}), tensor({4, 2})},
           {tensor({n, Dim()}), tensor({Dim(), n}), tensor({n, n})},
           {tensor({n}), tensor({m}), tensor({n})},
           {tensor({m}), tensor({n}), tensor({m})},
           {Type::tensor(DType::float32), tensor({2}), tensor({2})},
           {tensor({2}), Type::tensor(DType::float32), tensor({2})},
           {Type::tensor(DType::undefined, Dims{2}), tensor({2}), tensor({2})},
           {Type::sequence(Type()), Type::sequence(tensor({2})), Type::sequence(tensor({2}))},
           {Type::sequence(tensor({Dim(), 2})), Type::sequence(tensor({3, n})),
            Type::sequence(tensor({3, 2}))},
       }) {
    CHECK(merge(row.a, row.b) == row.merged);
  }
  Type open;
  open.kind = TypeKind::optional;
  CHECK(merge(open, Type::optional(tensor({2}))) == Type::optional(tensor({2})));
  CHECK(merge(Type::optional(tensor({2})), open) == Type::optional(tensor({2})));
}

TEST_CASE("types are equal when all of their parts are") {
  CHECK(tensor({2}) == tensor({2}));
  CHECK_FALSE(tensor({2}) == tensor({3}));
  CHECK_FALSE(tensor({2}) == Type::tensor(DType::float32));
  CHECK_FALSE(tensor({2}) == Type::tensor(DType::float64, Dims{2}));
  CHECK(Type::sequence(tensor({2})) == Type::sequence(tensor({2})));
  CHECK_FALSE(Type::sequence(tensor({2})) == Type::sequence(tensor({3})));
  Type open;
  open.kind = TypeKind::sequence;
  CHECK(open == open);
  CHECK_FALSE(open == Type::sequence(tensor({2})));
  CHECK_FALSE(Type::sequence(tensor({2})) == open);
}

TEST_CASE("a type has a shape where it is a tensor whose dims are all known") {
  CHECK(tensor({2, 3}).shape() == Shape{2, 3});
  CHECK(tensor({}).shape() == Shape{});
  CHECK_FALSE(tensor({2, Dim()}).shape());
  CHECK_FALSE(Type::tensor(DType::float32).shape());
  Type sparse = tensor({2});
  sparse.kind = TypeKind::sparse_tensor;
  CHECK_FALSE(sparse.shape());
  CHECK(to_shape(Dims(Shape::max_rank, 1))->rank() == Shape::max_rank);
  CHECK_FALSE(to_shape(Dims(Shape::max_rank + 1, 1)));
  CHECK(to_dims(Shape{2, 3}) == Dims{2, 3});
}

TEST_CASE("types are written with what is known of them") {
  CHECK(to_string(Dims{}) == "[]");
  CHECK(to_string(Type::tensor(DType::float32, Dims{2, Dim(), Dim::symbolic(7)})) ==
        "tensor(float)[2, ?, ?7]");
  CHECK(to_string(Type::tensor(DType::int64)) == "tensor(int64)");
  Type sparse = tensor({2});
  sparse.kind = TypeKind::sparse_tensor;
  CHECK(to_string(sparse) == "sparse_tensor(float)[2]");
  CHECK(to_string(Type::sequence(tensor({2}))) == "seq(tensor(float)[2])");
  CHECK(to_string(Type::optional(Type())) == "optional(?)");
  CHECK(to_string(Type::map(DType::string, tensor({}))) == "map(string, tensor(float)[])");
  Type open;
  open.kind = TypeKind::sequence;
  CHECK(to_string(open) == "seq(?)");
}

TEST_CASE("a multiple of a symbol is the same as no other one") {
  const Dim n = Dim::symbolic(7);
  const Dim some = Dim::multiple(12, 7);
  CHECK(Dim::multiple(1, 7).same(n));
  CHECK(n.is_symbolic());
  CHECK((some.has_symbol() && !some.is_symbolic() && !some.known()));
  CHECK((some.symbol() == 7 && some.factor() == 12));
  CHECK(some.same(Dim::multiple(12, 7)));
  for (const Dim other : {n, Dim(), Dim(12), Dim::multiple(13, 7), Dim::multiple(12, 8)}) {
    CHECK_FALSE(some.same(other));
  }
  const std::uint32_t last = 0xffffffff;
  const Dim large = Dim::multiple((1 << 30) - 1, last);
  CHECK((large.symbol() == last && large.factor() == (1 << 30) - 1));
  for (const std::int64_t factor :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 30, std::int64_t{1} << 62}) {
    CHECK(Dim::multiple(factor, 0) == Dim());
  }
  CHECK(merge(tensor({some}), tensor({Dim()})) == tensor({some}));
  CHECK(merge(tensor({Dim()}), tensor({some})) == tensor({some}));
  CHECK(to_string(Dims{some, n, 3, Dim()}) == "[12*?7, ?7, 3, ?]");
}
