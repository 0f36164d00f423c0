#include <algorithm>

#include "core/out_of_memory.h"
#include "trainer/input_types.h"
#include "trainer/model_impl.h"
#include "trainer/plan/report.h"

namespace ondine {
namespace {

std::vector<Storage> input_storage(const trainer::Callable& callable) {
  std::vector<Storage> result;
  for (const trainer::InputSource& input : callable.inputs) {
    if (input.variable != trainer::InputSource::no_variable) {
      result.push_back(Storage::state);
    } else {
      result.push_back(input.fallback.defined() ? Storage::constant : Storage::caller);
    }
  }
  return result;
}

}  // namespace

PlanReport Model::plan_report(const PlanRequest& request) const {
  return guard_memory("plan a call", [&] {
    NamedValues feeds;
    for (const auto& [name, shape] : request.shapes) feeds.emplace_back(name, Value());
    const trainer::Callable& callable = request.algorithm
                                            ? impl_->require_algorithm(*request.algorithm).step
                                            : impl_->assembly.infer_for(feeds);
    const trainer::Selection& selection = callable.select(callable.default_outputs, impl_->runtime);
    const auto types = trainer::input_types(callable, impl_->state, request.shapes);
    const trainer::Plan plan = selection.program->plan(types);
    PlanReport report =
        trainer::report_plan(plan, input_storage(callable), selection.program->wanted().in_place);
    report.state_bytes = plan.total_bytes - report.arena_bytes - report.constant_bytes;
    return report;
  });
}

}  // namespace ondine
