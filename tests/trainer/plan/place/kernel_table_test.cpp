// Which nodes of a plan share a kernel, and which are those of the graph itself.
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "trainer/plan/plan.h"

using namespace ondine;           // NOLINT
using namespace ondine::graph;    // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

int times_bound = 0;

void same_type(InferContext& context) { context.set_output(0, context.input(0)); }

Kernel bind_counted(BindContext& context) {
  ++times_bound;
  context.request_workspace(static_cast<std::size_t>(64 * context.attr_int("units", 1)));
  return [](KernelContext&) {};
}

const OpDef counted{.name = "Counted", .infer = same_type, .bind = bind_counted};
const OpDef other{.name = "Other", .infer = same_type, .bind = bind_counted};

// Nodes after each other's inputs, planned for two inputs of the shapes.
struct Sketch {
  Graph graph;
  ValueId x = graph.add_value("x");
  ValueId wide = graph.add_value("wide");

  ValueId node(const OpDef& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    Node node;
    node.op = &op;
    node.name = "n" + std::to_string(graph.nodes.size());
    node.inputs = std::move(inputs);
    node.outputs = {graph.add_value("v" + std::to_string(graph.values.size()))};
    node.attributes = std::move(attributes);
    graph.nodes.push_back(std::move(node));
    graph.outputs.push_back(graph.nodes.back().outputs[0]);
    return graph.outputs.back();
  }
  ValueId constant(std::vector<float> elements) {
    const ValueId id = graph.add_value("c" + std::to_string(graph.values.size()));
    const Shape shape{static_cast<std::int64_t>(elements.size())};
    graph[id].constant = Tensor::of<float>(shape, elements);
    graph[id].type = Type::tensor(DType::float32, shape);
    return id;
  }
  Plan plan() {
    graph.inputs = {x, wide};
    times_bound = 0;
    const std::vector<Type> types{Type::tensor(DType::float32, Shape{2, 3}),
                                  Type::tensor(DType::float32, Shape{2, 30})};
    const Limits limits;
    PlanOptions options;
    options.limits = &limits;
    shared = std::make_shared<const Graph>(graph);
    return make_plan(shared, types, options);
  }

  std::shared_ptr<const Graph> shared;
};

// The kernel of the node with this name.
std::uint32_t kernel_of(const Plan& plan, const std::string& name) {
  for (const PlannedNode& planned : plan.nodes) {
    if (planned.node->name == name) return planned.kernel;
  }
  FAIL("no node " << name);
  return 0;
}

}  // namespace

TEST_CASE("nodes of one operator on equal types are bound once") {
  Sketch s;
  ValueId at = s.x;
  for (int i = 0; i < 5; ++i) at = s.node(counted, {at});
  const Plan plan = s.plan();
  REQUIRE(plan.nodes.size() == 5);
  CHECK(plan.kernels.size() == 1);
  CHECK(times_bound == 1);
  for (const PlannedNode& planned : plan.nodes) {
    REQUIRE(planned.workspace != no_buffer);
    CHECK(plan.buffers[planned.workspace].bytes == 64);
  }
}

TEST_CASE("another operator, shape, attribute or number of inputs is another kernel") {
  Sketch s;
  s.node(counted, {s.x});
  s.node(other, {s.x});
  s.node(counted, {s.wide});
  s.node(counted, {s.x}, {{"units", std::int64_t{3}}});
  s.node(counted, {s.x, s.x});
  s.node(counted, {s.x, no_value});
  s.node(counted, {s.x}, {{"units", std::int64_t{3}}});
  const Plan plan = s.plan();
  CHECK(plan.kernels.size() == 6);
  CHECK(times_bound == 6);
  CHECK(kernel_of(plan, "n3") == kernel_of(plan, "n6"));
  CHECK(plan.kernels[kernel_of(plan, "n3")].workspace_bytes == 192);
}

TEST_CASE("nodes that read constants share a kernel where these are small and equal") {
  Sketch s;
  const std::vector<float> large(100, 1.0F);
  s.node(counted, {s.x, s.constant({1, 2})});
  s.node(counted, {s.x, s.constant({1, 2})});
  s.node(counted, {s.x, s.constant({1, 3})});
  const ValueId shared = s.constant(large);
  s.node(counted, {s.x, shared});
  s.node(counted, {s.x, shared});
  s.node(counted, {s.x, s.constant(large)});
  const Plan plan = s.plan();
  CHECK(kernel_of(plan, "n0") == kernel_of(plan, "n1"));
  CHECK(kernel_of(plan, "n0") != kernel_of(plan, "n2"));
  CHECK(kernel_of(plan, "n3") == kernel_of(plan, "n4"));
  CHECK(kernel_of(plan, "n3") != kernel_of(plan, "n5"));
}

TEST_CASE("a plan refers to the nodes of the graph that planning leaves as they are") {
  Sketch s;
  const ValueId first = s.node(counted, {s.x});
  s.node(counted, {first});
  // The second output, which nobody reads, is left out of the plan's node.
  s.graph.nodes[1].outputs.push_back(s.graph.add_value("unread"));
  Plan plan = s.plan();
  REQUIRE(plan.nodes.size() == 2);
  CHECK(plan.nodes[0].node.get() == &s.shared->nodes[0]);
  CHECK(plan.nodes[1].node.get() != &s.shared->nodes[1]);
  CHECK(plan.nodes[1].node->outputs[1] == no_value);
  const std::weak_ptr<const Graph> graph = s.shared;
  s.shared.reset();
  CHECK_FALSE(graph.expired());
  plan = {};
  CHECK(graph.expired());
}
