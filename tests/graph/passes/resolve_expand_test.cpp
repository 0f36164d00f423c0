// Which shapes of PyTorch's expand are known before there are sizes.
#include <catch2/catch.hpp>

#include "kernels/catalogue.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT
using Int64s = std::vector<std::int64_t>;

// Variation of Expand(x, Where(Equal(shape, -1), 1, shape)) with a shape of N, -1 and T.
struct Form {
  std::int64_t compared = -1;
  std::int64_t instead = 1;
  std::int64_t kept = -1;     // in the shape
  bool other_shape = false;   // the comparison is of another shape
  bool unknown_size = false;  // one that is the result of a sum
  bool swapped = false;       // the operands of the comparison
};

// The dims of the expanded value after the pass.
Dims expanded(const Form& form) {
  static const Catalogue catalogue = kernels::catalogue();
  Graph graph;
  graph.symbols = std::make_shared<Symbols>();
  const Dim n = graph.symbols->get("N"), t = graph.symbols->get("T");
  const ValueId x = graph.add_value("x", Type::tensor(DType::float32, Dims{n, 3, 1}));
  const ValueId sizes = graph.add_value("sizes", Type::tensor(DType::float32, Dims{n, t}));
  const ValueId number = graph.add_value("number", Type::tensor(DType::int64, Dims{1}));
  graph.inputs = {x, sizes, number};
  Builder b(graph, catalogue);
  const Val shape_of = b.node("Shape", {b.value(sizes)});
  const auto size = [&](std::int64_t i) { return b.node("Gather", {shape_of, b.int64s({i})}); };
  const Val last = form.unknown_size ? b.value(number) : size(1);
  const Val shape =
      b.node("Concat", {size(0), b.int64s({form.kept}), last}, {{"axis", std::int64_t{0}}});
  const Val other = b.int64s({7, -1, 7});
  const Val compared = form.other_shape ? other : shape;
  const Val by = b.int64s(Int64s(3, form.compared));
  const Val keeps =
      form.swapped ? b.node("Equal", {by, compared}) : b.node("Equal", {compared, by});
  const Val target = b.node("Where", {keeps, b.int64s(Int64s(3, form.instead)), shape});
  const Val y = b.node("Expand", {b.value(x), target});
  graph.outputs = {y.id()};
  PassContext context;
  context.catalogue = &catalogue;
  run_passes(graph, context, std::array{resolve_expand});
  const Type& type = graph[y.id()].type;
  return type.ranked() ? *type.dims : Dims{};
}

const Dims known{Dim::symbolic(0), 3, Dim::symbolic(1)};

}  // namespace

TEST_CASE("the dims that an exported expand keeps are known before there are sizes") {
  CHECK(expanded({}) == known);
  CHECK(expanded({.swapped = true}) == known);
  CHECK(expanded({.kept = 3}) == known);
}

TEST_CASE("a shape that differs from that of an exported expand is known in a run alone") {
  for (const Form& form : {Form{.compared = -2}, Form{.compared = 0}, Form{.instead = 2},
                           Form{.other_shape = true}, Form{.unknown_size = true}}) {
    CHECK_FALSE(expanded(form) == known);
  }
}

}  // namespace ondine::test
