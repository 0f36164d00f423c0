#include <catch2/catch.hpp>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "trainer/plan/plan.h"

using namespace ondine;           // NOLINT
using namespace ondine::graph;    // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

void same_type(InferContext& context) { context.set_output(0, context.input(0)); }

// Chooses by the number of elements, as a primitive does.
Kernel bind_chooser(BindContext& context) {
  context.set_implementation("general");
  if (context.shape(0).size() > 4) context.set_implementation("blocked", "avx2");
  return [](KernelContext&) {};
}

Kernel bind_silent(BindContext&) {
  return [](KernelContext&) {};
}

const OpDef chooser{.name = "Chooser", .infer = same_type, .bind = bind_chooser};
const OpDef silent{.name = "Silent", .infer = same_type, .bind = bind_silent};

Implementation planned_implementation(const OpDef& op, Shape shape) {
  Graph graph;
  const ValueId x = graph.add_value("x");
  const ValueId y = graph.add_value("y");
  graph.inputs = {x};
  graph.outputs = {y};
  Node node;
  node.op = &op;
  node.inputs = {x};
  node.outputs = {y};
  graph.nodes = {node};
  const Type type = Type::tensor(DType::float32, std::move(shape));
  const Limits limits;
  PlanOptions options;
  options.limits = &limits;
  const Plan plan = make_plan(std::make_shared<const Graph>(graph), std::span(&type, 1), options);
  REQUIRE(plan.nodes.size() == 1);
  return plan.kernels.at(plan.nodes[0].kernel).implementation;
}

}  // namespace

TEST_CASE("a plan keeps the implementation that a kernel's bind reports, for the shapes planned") {
  CHECK(planned_implementation(chooser, {2, 2}) == Implementation{"general", ""});
  CHECK(planned_implementation(chooser, {8, 2}) == Implementation{"blocked", "avx2"});
}

TEST_CASE("an operator that reports nothing has an implementation without a name") {
  CHECK(planned_implementation(silent, {8, 2}) == Implementation{});
}
