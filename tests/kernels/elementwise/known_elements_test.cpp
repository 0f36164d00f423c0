// Dims that are computed: what is known of the elements of integer vectors.
#include <limits>
#include <memory>

#include <catch2/catch.hpp>

#include "graph/contract/builder.h"
#include "graph/contract/clipped_dim.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

const Dim open;
const Dim n = Dim::symbolic(0);
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

using Known = std::optional<Dims>;

struct Operand {
  Type type;
  Known known;

  Operand(const Dims& elements)  // NOLINT: implicit
      : type(Type::tensor(DType::int64, Shape{static_cast<std::int64_t>(elements.size())})),
        known(elements) {}
  Operand(Type own, Known elements) : type(std::move(own)), known(std::move(elements)) {}
};

// Known elements of op(a, b).
Known known(const std::string& op, const Operand& a, const Operand& b) {
  Graph graph;
  Builder builder(graph, catalogue());
  std::vector<Val> inputs;
  for (const Operand* one : {&a, &b}) {
    const ValueId id = graph.add_temporary("v", one->type);
    if (one->known) graph[id].known_dims = *one->known;
    inputs.push_back(builder.value(id));
  }
  const Val y = builder.nodes(op, inputs, {}, 1)[0];
  return *graph[y.id()].known_dims;
}

}  // namespace

TEST_CASE("sums, differences, products, quotients and extremes of known dims are known") {
  struct Row {
    Dim a, b;
    Known sum, difference, product, quotient, least, greatest;
  };
  const auto one = [](Dim d) { return Known(Dims{d}); };
  const Known none;
  for (const Row& row : {
           Row{7, 2, one(9), one(5), one(14), one(3), one(2), one(7)},
           Row{2, 7, one(9), none, one(14), one(0), one(2), one(7)},
           Row{5, 5, one(10), one(0), one(25), one(1), one(5), one(5)},
           Row{6, 1, one(7), one(5), one(6), one(6), one(1), one(6)},
           Row{1, 6, one(7), none, one(6), one(0), one(1), one(6)},
           Row{4, 0, one(4), one(4), one(0), none, one(0), one(4)},
           Row{0, 4, one(4), none, one(0), one(0), one(0), one(4)},
           Row{0, 0, one(0), one(0), one(0), none, one(0), one(0)},
           Row{n, 0, one(n), one(n), one(0), none, one(0), one(n)},
           Row{0, n, one(n), none, one(0), none, one(0), one(n)},
           Row{n, 1, one(open), none, one(n), one(n), one(open), one(open)},
           Row{1, n, one(open), none, one(n), none, one(open), one(open)},
           Row{n, n, one(open), one(0), one(open), none, one(n), one(n)},
           Row{n, 2, one(open), none, one(Dim::multiple(2, 0)), one(open), one(clipped(n, 2)),
               one(open)},
           Row{9, n, one(open), none, one(Dim::multiple(9, 0)), none, one(clipped(n, 9)),
               one(open)},
           Row{open, open, one(open), none, one(open), none, one(open), one(open)},
           Row{most, 0, one(most), one(most), one(0), none, one(0), one(most)},
           Row{most, 1, none, one(most - 1), one(most), one(most), one(1), one(most)},
           Row{most, 2, none, one(most - 2), none, one(most / 2), one(2), one(most)},
       }) {
    CAPTURE(row.a, row.b);
    const Operand a(Dims{row.a});
    const Operand b(Dims{row.b});
    CHECK(known("Add", a, b) == row.sum);
    CHECK(known("Sub", a, b) == row.difference);
    CHECK(known("Mul", a, b) == row.product);
    CHECK(known("Div", a, b) == row.quotient);
    CHECK(known("Min", a, b) == row.least);
    CHECK(known("Max", a, b) == row.greatest);
  }
}

TEST_CASE("known elements broadcast as tensors do, and one that is unknown hides all") {
  CHECK(known("Sub", Dims{9, n, 7}, Dims{2, 0, 7}) == Dims{7, n, 0});
  CHECK(known("Sub", Dims{9, n, 7}, Dims{2, 1, 7}) == Known());
  CHECK(known("Sub", Dims{9, 8, 7}, Dims{5}) == Dims{4, 3, 2});
  CHECK(known("Sub", Dims{9}, Dims{5, 7}) == Dims{4, 2});
  const Operand number(Type::tensor(DType::int64, Shape{}), Dims{5});
  CHECK(known("Sub", Dims{9, 8}, number) == Dims{4, 3});
  CHECK(known("Sub", number, number) == Dims{0});
}

TEST_CASE("only elements of short int64 vectors are followed") {
  const Operand unknown(Type::tensor(DType::int64, Shape{2}), {});
  CHECK(known("Add", Dims{1, 2}, unknown) == Known());
  CHECK(known("Add", unknown, Dims{1, 2}) == Known());
  const Operand small(Type::tensor(DType::int32, Shape{1}), Dims{3});
  CHECK(known("Add", small, small) == Known());
  const Operand matrix(Type::tensor(DType::int64, Shape{1, 1}), Dims{3});
  CHECK(known("Add", matrix, Dims{3}) == Known());
  CHECK(known("Add", Dims{3}, matrix) == Known());
  const Operand any(Type::tensor(DType::int64, Dims{open}), Dims{3});
  CHECK(known("Add", any, Dims{3}) == Known());
  const Dims whole(Shape::max_rank, Dim(2));
  CHECK(known("Add", whole, whole) == Dims(Shape::max_rank, Dim(4)));
  const Dims longer(Shape::max_rank + 1, Dim(2));
  CHECK(known("Add", longer, longer) == Known());
  CHECK(known("Add", Dims{}, Dims{}) == Known());
}

}  // namespace ondine::test
