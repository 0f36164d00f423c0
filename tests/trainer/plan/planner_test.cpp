#include <catch2/catch.hpp>

#include "tests/support/models.h"
#include "trainer/model/assemble.h"
#include "trainer/model/input_types.h"
#include "trainer/plan/place/static_bind.h"

using namespace ondine;           // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

// The step of dropout_classifier for 4000 rows.
Plan plan_step(std::optional<std::uint64_t> memory_budget) {
  const Functions functions = assemble(test::dropout_classifier(), {});
  const Function& step = functions.algorithms.at(0).step;
  Runtime runtime;
  runtime.memory_budget = memory_budget;
  const StateStore state(functions.variables);
  const std::vector<std::pair<std::string, Shape>> shapes{{"x", {4000, 8}}, {"label", {4000}}};
  return step.call(step.default_outputs, runtime).plan(input_types(step, state, shapes));
}

void check_bindings(const Plan& plan) {
  const Limits limits;
  for (const PlannedNode& planned : plan.nodes) {
    REQUIRE_FALSE(planned.dynamic);
    const auto bound = bind_static(*planned.node, plan.graph, {limits, 1, plan.precision});
    REQUIRE(bound);
    const std::size_t bytes =
        planned.workspace == no_buffer ? 0 : plan.buffers[planned.workspace].bytes;
    CHECK(bytes == bound->workspace_bytes);
    CHECK(plan.kernels.at(planned.kernel).implementation == bound->implementation);
  }
}

}  // namespace

TEST_CASE("workspaces and implementations are those of the kernels, also of repeated nodes") {
  const Plan plain = plan_step({});
  check_bindings(plain);
  const Plan lean = plan_step(plain.total_bytes - plain.arena_bytes / 8);
  CHECK(lean.nodes.size() > plain.nodes.size());
  check_bindings(lean);
}
