#include "trainer/program.h"

#include <algorithm>

#include "graph/evaluate/node_runner.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

constexpr std::size_t kept_plans = 16;

// Compares without building the value's type, so that a warm call does not allocate.
bool has_type(const Value& value, const Type& type) {
  if (!value.is_tensor() || !type.is_tensor()) return type_of(value) == type;
  const Tensor& tensor = value.tensor();
  if (tensor.dtype() != type.dtype || tensor.shape().rank() != type.dims->size()) return false;
  for (std::size_t axis = 0; axis < type.dims->size(); ++axis) {
    if ((*type.dims)[axis].size() != tensor.shape()[axis]) return false;
  }
  return true;
}

}  // namespace

struct Program::Variant {
  std::vector<Type> inputs;
  std::shared_ptr<const Plan> plan;
  std::vector<std::unique_ptr<Executor>> idle;  // has room for all `made`
  std::size_t made = 0;
};

Program::Program(std::shared_ptr<const Graph> graph, Wanted wanted, const Runtime& runtime)
    : wanted_(std::move(wanted)), runtime_(&runtime) {
  auto pruned = std::make_shared<Graph>(*graph);
  pruned->outputs = wanted_.values;
  graph_ = std::move(pruned);
}

Program::~Program() = default;

Program::Variant& Program::variant(std::span<const Value> inputs) {
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    if (!std::equal(inputs.begin(), inputs.end(), variants_[i]->inputs.begin(), has_type)) continue;
    std::rotate(variants_.begin(), variants_.begin() + static_cast<std::ptrdiff_t>(i),
                variants_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return *variants_[0];
  }
  auto fresh = std::make_shared<Variant>();
  for (const Value& value : inputs) fresh->inputs.push_back(type_of(value));
  fresh->plan = std::make_shared<Plan>(plan(fresh->inputs));
  variants_.insert(variants_.begin(), std::move(fresh));
  if (variants_.size() > kept_plans) variants_.pop_back();
  return *variants_[0];
}

Plan Program::plan(std::span<const Type> inputs) const {
  PlanOptions options;
  options.targets = wanted_.targets;
  options.in_place = wanted_.in_place;
  options.commit_last = wanted_.commit_last;
  options.memory_budget = runtime_->memory_budget;
  options.state_bytes = runtime_->state_bytes + wanted_.next_bytes;
  options.limits = &runtime_->limits;
  options.threads = runtime_->threads;
  Plan plan = make_plan(*graph_, inputs, options);
  if (verifies_plans()) verify_plan(plan, wanted_.in_place);
  return plan;
}

std::shared_ptr<const Plan> Program::plan(std::span<const Value> inputs) {
  const std::lock_guard lock(mutex_);
  return variant(inputs).plan;
}

ExecutorLease Program::acquire(std::span<const Value> inputs) {
  std::unique_ptr<Executor> executor;
  std::shared_ptr<Variant> chosen;
  {
    const std::lock_guard lock(mutex_);
    variant(inputs);
    chosen = variants_[0];
    if (!chosen->idle.empty()) {
      executor = std::move(chosen->idle.back());
      chosen->idle.pop_back();
    }
  }
  if (!executor) {
    executor = std::make_unique<Executor>(chosen->plan, runtime_->limits, runtime_->threads,
                                          runtime_->budget);
    const std::lock_guard lock(mutex_);
    chosen->idle.reserve(chosen->made + 1);
    ++chosen->made;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) executor->set_input(i, inputs[i]);
  return {std::move(chosen), std::move(executor), *this};
}

ExecutorLease::ExecutorLease(std::shared_ptr<Program::Variant> variant,
                             std::unique_ptr<Executor> executor, Program& program)
    : variant_(std::move(variant)), executor_(std::move(executor)), program_(&program) {}

ExecutorLease::ExecutorLease(ExecutorLease&&) noexcept = default;

ExecutorLease::~ExecutorLease() {
  if (!executor_) return;
  const std::lock_guard lock(program_->mutex_);
  variant_->idle.push_back(std::move(executor_));
}

}  // namespace ondine::trainer
