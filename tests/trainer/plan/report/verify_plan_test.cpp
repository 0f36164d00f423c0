#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "graph/contract/op_def.h"
#include "trainer/plan/plan.h"

using namespace ondine;           // NOLINT
using namespace ondine::graph;    // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

const OpDef plain{.name = "Plain"};
const OpDef sure{.name = "Sure", .traits = {.cannot_fail = true}};
const OpDef over{.name = "Over", .traits = {.inplace = 1}};
const OpDef view{.name = "View", .traits = {.view = true}};

// A plan written by hand: 16 bytes a buffer.
struct Sketch {
  Plan plan;

  ValueId in_buffer(std::size_t buffer) {
    plan.buffer_of.push_back(buffer);
    return plan.graph.add_value("v" + std::to_string(plan.graph.values.size()));
  }
  ValueId given() {
    plan.buffers.push_back({.kind = BufferKind::external, .bytes = 16});
    plan.graph.inputs.push_back(in_buffer(plan.buffers.size() - 1));
    return plan.graph.inputs.back();
  }
  ValueId target() {
    plan.buffers.push_back({.kind = BufferKind::target, .bytes = 16});
    return in_buffer(plan.buffers.size() - 1);
  }
  std::size_t arena(std::size_t offset) {
    plan.buffers.push_back({.kind = BufferKind::arena, .offset = offset, .bytes = 16});
    plan.arena_bytes = std::max(plan.arena_bytes, offset + 16);
    return plan.buffers.size() - 1;
  }
  ValueId at(std::size_t offset) { return in_buffer(arena(offset)); }
  std::size_t buffer(ValueId id) const { return plan.buffer_of[static_cast<std::size_t>(id)]; }
  void node(const OpDef& op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
            std::size_t workspace = no_buffer) {
    Node n;
    n.op = &op;
    n.inputs = std::move(inputs);
    n.outputs = std::move(outputs);
    plan.nodes.push_back(
        {.node = std::make_shared<const Node>(std::move(n)), .workspace = workspace});
    plan.commit_begin = plan.nodes.size();
  }
};

}  // namespace

TEST_CASE("tests verify every plan") { CHECK(verifies_plans()); }

TEST_CASE("a plan holds when memory is reused after its last reader") {
  Sketch s;
  const ValueId x = s.given();
  const ValueId a = s.at(0);
  const ValueId b = s.at(16);
  const ValueId c = s.at(0);
  s.node(plain, {x}, {a}, s.arena(16));
  s.node(plain, {a}, {b});
  s.node(plain, {b}, {c});
  s.plan.graph.outputs = {c};
  verify_plan(s.plan);
  s.plan.graph.outputs = {a};
  CHECK_THROWS_WITH(verify_plan(s.plan), Catch::Contains("given away"));
  s.plan.graph.outputs = {c};
  std::swap(s.plan.nodes[1], s.plan.nodes[2]);
  CHECK_THROWS_WITH(verify_plan(s.plan), Catch::Contains("before it is written"));
}

TEST_CASE("memory of one node must not overlap") {
  Sketch s;
  const ValueId x = s.given();
  const ValueId a = s.at(0);
  const ValueId b = s.at(8);
  s.node(plain, {x}, {a});
  SECTION("an input and an output") { s.node(plain, {a}, {b}); }
  SECTION("two outputs") { s.node(plain, {x}, {b, s.at(16)}); }
  SECTION("an input and the workspace") { s.node(plain, {a}, {s.at(32)}, s.arena(8)); }
  CHECK_THROWS_WITH(verify_plan(s.plan), Catch::Contains("for two things"));
}

TEST_CASE("a value that was overwritten in place is not read afterwards, except as a view") {
  Sketch s;
  const ValueId x = s.given();
  const ValueId a = s.at(0);
  const ValueId b = s.in_buffer(s.buffer(a));
  s.node(plain, {x}, {a});
  SECTION("a view") {
    s.node(view, {a}, {b});
    s.node(plain, {a, b}, {s.at(16)});
    verify_plan(s.plan);
  }
  SECTION("in place") {
    s.node(over, {a}, {b});
    s.node(plain, {b}, {s.at(16)});
    verify_plan(s.plan);
    s.node(plain, {a}, {s.at(16)});
    CHECK_THROWS_WITH(verify_plan(s.plan), Catch::Contains("overwritten"));
  }
  SECTION("where the operator may not") {
    s.node(plain, {a}, {b});
    CHECK_THROWS_WITH(verify_plan(s.plan), Catch::Contains("still reads"));
  }
  SECTION("where the node reads it twice") {
    s.node(over, {a, a}, {b});
    CHECK_THROWS_WITH(verify_plan(s.plan), Catch::Contains("still reads"));
  }
}

TEST_CASE("a variable that is updated in its own memory has had its last reader") {
  Sketch s;
  const ValueId w = s.given();
  const ValueId next = s.target();
  const std::vector<InPlace> pairs{{next, w}};
  s.plan.in_place = {true};
  s.node(over, {w}, {next});
  verify_plan(s.plan, pairs);
  s.node(plain, {w}, {s.at(0)});
  CHECK_THROWS_WITH(verify_plan(s.plan, pairs), Catch::Contains("overwritten"));
  s.plan.in_place = {false};
  verify_plan(s.plan, pairs);
}

TEST_CASE(
    "only nodes that cannot fail, and no result but targets, belong into the commit section") {
  Sketch s;
  const ValueId x = s.given();
  const auto refused = Catch::Contains("commit section");
  const ValueId a = s.at(0);
  s.node(sure, {x}, {a});
  const ValueId b = s.target();
  s.node(sure, {a}, {b, no_value});
  s.plan.graph.outputs = {b};
  s.plan.commit_begin = 0;
  verify_plan(s.plan);
  s.plan.graph.outputs = {b, a};
  CHECK_THROWS_WITH(verify_plan(s.plan), refused);
  s.plan.commit_begin = 1;
  verify_plan(s.plan);
  s.node(plain, {a}, {s.target()});
  s.plan.commit_begin = 2;
  CHECK_THROWS_WITH(verify_plan(s.plan), refused);
  s.plan.commit_begin = 3;
  verify_plan(s.plan);
  s.node(sure, {a}, {s.target()});
  s.plan.commit_begin = 3;
  verify_plan(s.plan);
  s.plan.nodes[3].dynamic = true;
  CHECK_THROWS_WITH(verify_plan(s.plan), refused);
}
