// Derivatives of Gather that take over the sums that they are added to.
#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

void infer_table(InferContext& context) {
  context.set_output(0, Type::tensor(DType::float32, Shape{4, 2}));
}

const OpDef gather_grad{
    .name = "GatherGrad", .domain = ondine_domain, .infer = infer_table, .bind = bind_nothing};
const OpDef sum{.name = "Sum", .infer = infer_broadcast, .bind = bind_nothing};
const OpDef add{.name = "Add", .infer = infer_broadcast, .bind = bind_nothing};
const OpDef foreign_sum{
    .name = "Sum", .domain = "org.example", .infer = infer_broadcast, .bind = bind_nothing};

const Catalogue& lookups() {
  static const std::vector<const OpDef*> list{&gather_grad, &sum, &add, &foreign_sum};
  static const Catalogue catalogue(list);
  return catalogue;
}

struct Sums {
  Graph graph;
  Builder builder{graph, lookups()};

  Val input(const Shape& shape) {
    graph.inputs.push_back(graph.add_temporary("x", Type::tensor(DType::float32, shape)));
    return builder.value(graph.inputs.back());
  }
  Val table() { return input({4, 2}); }
  Val lookup(std::int64_t axis = 0) {
    return builder.node("GatherGrad", {input({3, 2}), input({3}), input({2})}, {{"axis", axis}},
                        ondine_domain);
  }
  void add(const std::vector<Val>& parts, const char* op = "Sum", const char* domain = "") {
    graph.outputs.push_back(builder.nodes(op, parts, {}, 1, domain)[0].id());
  }
  bool run(const Catalogue* catalogue = &lookups()) {
    return fuse(graph, fuse_gather_gradient, catalogue);
  }
  Ops ops() const { return operators(graph); }
  const Node& last() const { return graph.nodes.back(); }
};

}  // namespace

TEST_CASE("a sum of a table and the derivative of its lookup becomes one node") {
  for (const char* op : {"Sum", "Add"}) {
    for (const bool first : {false, true}) {
      Sums s;
      const Val table = s.table();
      const Val lookup = s.lookup(-2);
      const std::vector<ValueId> inputs = s.graph.nodes[0].inputs;
      s.add(first ? std::vector{lookup, table} : std::vector{table, lookup}, op);
      CHECK(s.run());
      REQUIRE(s.ops() == Ops{"GatherGrad"});
      CHECK(s.last().inputs == std::vector{inputs[0], inputs[1], inputs[2], table.id()});
      CHECK(s.last().outputs == s.graph.outputs);
      CHECK(NodeView(s.last()).attr_int("axis", 0) == -2);
      CHECK_FALSE(s.run());
    }
  }
}

TEST_CASE("lookups of one table add one after the other to the sum of the rest") {
  Sums s;
  const Val a = s.table();
  const Val b = s.input({2});
  const Val first = s.lookup();
  const Val second = s.lookup();
  s.add({first, a, second, b});
  CHECK(s.run());
  REQUIRE(s.ops() == Ops{"Sum", "GatherGrad", "GatherGrad"});
  CHECK(s.graph.nodes[0].inputs == std::vector{a.id(), b.id()});
  CHECK(s.graph.nodes[1].inputs[3] == s.graph.nodes[0].outputs[0]);
  CHECK(s.last().inputs[3] == s.graph.nodes[1].outputs[0]);
  CHECK(s.last().outputs == s.graph.outputs);
}

TEST_CASE("of lookups alone the first one stays") {
  Sums s;
  const Val first = s.lookup();
  s.add({first, s.lookup()});
  CHECK(s.run());
  REQUIRE(s.ops() == Ops{"GatherGrad", "GatherGrad"});
  CHECK(s.graph.nodes[0].inputs.size() == 3);
  CHECK(s.last().inputs[3] == first.id());
  CHECK_FALSE(s.run());
}

TEST_CASE("sums stay that a lookup cannot take over") {
  const auto stays = [](auto make) {
    Sums s;
    make(s);
    const Ops before = s.ops();
    CHECK_FALSE(s.run());
    CHECK(s.ops() == before);
  };
  stays([](Sums& s) { s.add({s.table(), s.table()}); });
  stays([](Sums& s) { s.add({s.lookup()}); });
  stays([](Sums& s) { s.add({s.lookup(), s.input({2})}); });
  stays([](Sums& s) { s.add({s.lookup(), s.input({2}), s.input({1})}); });
  stays([](Sums& s) { s.add({s.lookup(), s.input({3, 4, 2})}); });
  stays([](Sums& s) { s.add({s.lookup(), s.table()}, "Sum", "org.example"); });
  stays([](Sums& s) {
    const Val lookup = s.lookup();
    s.graph.outputs.push_back(lookup.id());
    s.add({lookup, s.table()});
  });
  Sums s;
  s.add({s.lookup(), s.table()});
  CHECK_FALSE(s.run(nullptr));
}

}  // namespace ondine::test
