#include <algorithm>

#include "core/out_of_memory.h"
#include "trainer/model/input_types.h"
#include "trainer/model/model_impl.h"
#include "trainer/plan/report/report.h"

namespace ondine {
namespace {

std::vector<Storage> input_storage(const trainer::Function& function) {
  std::vector<Storage> result;
  for (const trainer::InputSource& input : function.inputs) {
    if (input.variable != trainer::InputSource::no_variable) {
      result.push_back(Storage::state);
    } else {
      result.push_back(input.fallback->defined() ? Storage::constant : Storage::caller);
    }
  }
  return result;
}

// The outputs that a training loop fetches: not the next values of state variables, which then need
// no memory of their own.
std::vector<std::string> reported_outputs(const trainer::Function& function) {
  std::vector<std::string> names;
  for (const trainer::NamedOutput& output : function.outputs) {
    const bool is_default = std::ranges::count(function.default_outputs, output.name) > 0;
    const bool is_update =
        std::ranges::count(function.updates, output.value, &trainer::Update::value) > 0;
    if (is_default && !is_update) names.push_back(output.name);
  }
  return names;
}

}  // namespace

PlanReport Model::plan_report(const PlanRequest& request) const {
  return guard_memory("plan a call", [&] {
    const auto scope = impl_->use(trainer::Use::read, "plan a call");
    NamedValues feeds;
    for (const auto& [name, shape] : request.shapes) feeds.emplace_back(name, Value());
    const trainer::Function& function = request.algorithm
                                            ? impl_->require_algorithm(*request.algorithm).step
                                            : impl_->inference().for_feeds(feeds);
    trainer::Call& selected = function.call(reported_outputs(function), impl_->runtime);
    const auto types = trainer::input_types(function, impl_->state, request.shapes);
    const trainer::Plan plan = selected.plan(types);
    PlanReport report = trainer::report_plan(plan, input_storage(function), selected.in_place());
    report.state_bytes = plan.total_bytes - report.arena_bytes - report.constant_bytes;
    return report;
  });
}

}  // namespace ondine
