#include "trainer/exec/kept_plans.h"

#include <algorithm>

#include "graph/evaluate/node_runner.h"

namespace ondine::trainer {
namespace {

// For small models, whose arena is no measure.
constexpr std::uint64_t always_allowed = std::uint64_t{1} << 20;
constexpr std::uint64_t share_of_arena = 16;

// Compares without constructing the value's type, so that a warm call does not allocate.
bool has_type(const Value& value, const graph::Type& type) {
  if (!value.is_tensor() || !type.is_tensor()) return graph::type_of(value) == type;
  const Tensor& tensor = value.tensor();
  if (tensor.dtype() != type.dtype || tensor.shape().rank() != type.dims->size()) return false;
  for (std::size_t axis = 0; axis < type.dims->size(); ++axis) {
    if ((*type.dims)[axis].size() != tensor.shape()[axis]) return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<KeptPlan> KeptPlans::find(const void* owner, std::span<const Value> inputs) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(plans_, [&](const auto& kept) {
    return kept->owner == owner &&
           std::equal(inputs.begin(), inputs.end(), kept->inputs.begin(), has_type);
  });
  if (found == plans_.end()) return nullptr;
  std::rotate(plans_.begin(), found, found + 1);
  return plans_.front();
}

void KeptPlans::make_room(const void* owner, const PlanBounds& bounds) {
  const std::lock_guard lock(mutex_);
  trim(bounds, owner);
}

void KeptPlans::add(std::shared_ptr<KeptPlan> plan, std::uint64_t bytes, const PlanBounds& bounds,
                    const MemoryBudget* budget) {
  const std::lock_guard lock(mutex_);
  charge(*plan, bytes, budget);
  largest_arena_ = std::max<std::uint64_t>(largest_arena_, plan->plan->arena_bytes);
  largest_total_ = std::max(largest_total_, plan->plan->total_bytes);
  plans_.insert(plans_.begin(), std::move(plan));
  trim(bounds);
}

void KeptPlans::add_executor(KeptPlan& plan, std::uint64_t bytes, const PlanBounds& bounds,
                             const MemoryBudget* budget) {
  const std::lock_guard lock(mutex_);
  plan.idle.reserve(plan.made + 1);
  charge(plan, bytes, budget);
  ++plan.made;
  trim(bounds);
}

bool KeptPlans::drop_others(const KeptPlan& plan) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(plans_, [&](const auto& kept) { return kept.get() != &plan; }) > 0;
}

void KeptPlans::forget(const void* owner) {
  const std::lock_guard lock(mutex_);
  std::erase_if(plans_, [&](const auto& kept) { return kept->owner == owner; });
}

std::unique_ptr<Executor> KeptPlans::take_idle(KeptPlan& plan) {
  const std::lock_guard lock(mutex_);
  if (plan.idle.empty()) return nullptr;
  std::unique_ptr<Executor> executor = std::move(plan.idle.back());
  plan.idle.pop_back();
  return executor;
}

void KeptPlans::give_back(KeptPlan& plan, std::unique_ptr<Executor> executor) noexcept {
  const std::lock_guard lock(mutex_);
  plan.idle.push_back(std::move(executor));
}

std::size_t KeptPlans::size() const {
  const std::lock_guard lock(mutex_);
  return plans_.size();
}

std::uint64_t KeptPlans::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& kept : plans_) bytes += kept->bytes;
  return bytes;
}

void KeptPlans::charge(KeptPlan& plan, std::uint64_t bytes, const MemoryBudget* budget) {
  while (budget != nullptr && budget->limit() - budget->used() < bytes) {
    const auto last = std::find_if(plans_.rbegin(), plans_.rend(),
                                   [&](const auto& kept) { return kept.get() != &plan; });
    if (last == plans_.rend()) break;
    plans_.erase(std::next(last).base());
  }
  plan.share.add(bytes);
  plan.bytes += bytes;
}

// `next_owner` will use another plan than its last one.
void KeptPlans::trim(const PlanBounds& bounds, const void* next_owner) {
  const auto is_extra = [&](std::size_t i) {
    const void* of = plans_[i]->owner;
    return of == next_owner ||
           std::any_of(plans_.begin(), plans_.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const auto& newer) { return newer->owner == of; });
  };
  const std::uint64_t allowed = allowance(bounds);
  std::uint64_t extra = 0;
  for (std::size_t i = 0; i < plans_.size(); ++i) extra += is_extra(i) ? plans_[i]->bytes : 0;
  for (std::size_t i = plans_.size(); i-- > 0 && extra > allowed;) {
    if (!is_extra(i)) continue;
    extra -= plans_[i]->bytes;
    plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::uint64_t KeptPlans::allowance(const PlanBounds& bounds) const {
  std::uint64_t bytes = std::min(always_allowed + largest_arena_ / share_of_arena,
                                 bounds.arena_limit / share_of_arena);
  if (bounds.memory_budget) {
    bytes =
        std::min(bytes, *bounds.memory_budget - std::min(*bounds.memory_budget, largest_total_));
  }
  return bytes;
}

}  // namespace ondine::trainer
