// The plans that the calls of a model keep for shapes that come again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/value.h>

#include "core/budget.h"
#include "graph/ir/type.h"
#include "trainer/exec/executor.h"
#include "trainer/model/dim_sizes.h"

namespace ondine::trainer {

// A plan for inputs of certain types, with its executors.
struct KeptPlan {
  // A value of which only a run tells the sizes of its dimension variables.
  struct Unsized {
    graph::ValueId value;
    std::string name;
    graph::Type declared;
  };

  explicit KeptPlan(std::shared_ptr<MemoryBudget> budget) : share(std::move(budget)) {}

  const void* owner = nullptr;
  std::vector<graph::Type> inputs;
  std::shared_ptr<const Plan> plan;
  std::optional<DimSizes> sizes;  // of the inputs and of all values of known shape
  std::vector<Unsized> unsized;
  std::vector<std::unique_ptr<Executor>> idle;  // has capacity for all `made`
  std::size_t made = 0;
  std::uint64_t bytes = 0;  // of the plan and all executors
  BudgetShare share;        // those bytes
};

// Bounds on the plans that are kept.
struct PlanBounds {
  std::uint64_t arena_limit = 0;               // Limits::arena_bytes
  std::optional<std::uint64_t> memory_budget;  // of arena, constants and state together
};

// Each owner keeps the plan that it used last. Beside these, the plans that were used last are kept
// as long as they together take no more than 1 MiB and a sixteenth of the largest arena, a
// sixteenth of the arena limit, and what the memory budget leaves. Their bytes are charged to the
// budget that each plan names. Thread-safe.
class KeptPlans {
 public:
  // The owner's plan for inputs of these types, which counts as used; null if there is none.
  // Allocates nothing.
  std::shared_ptr<KeptPlan> find(const void* owner, std::span<const Value> inputs);
  // Drops what does not fit beside a plan that the owner is about to make.
  void make_room(const void* owner, const PlanBounds& bounds);
  // Keeps a plan, or charges an executor that was made for one. Other plans go where the budget
  // lacks room. Throws Error(limit) when it does even then.
  void add(std::shared_ptr<KeptPlan> plan, std::uint64_t bytes, const PlanBounds& bounds,
           const MemoryBudget* budget);
  void add_executor(KeptPlan& plan, std::uint64_t bytes, const PlanBounds& bounds,
                    const MemoryBudget* budget);
  // Drops all others. Whether there were any.
  bool drop_others(const KeptPlan& plan);
  void forget(const void* owner);

  // An idle executor of the plan, or null. Callers give back executors that they took or made.
  std::unique_ptr<Executor> take_idle(KeptPlan& plan);
  void give_back(KeptPlan& plan, std::unique_ptr<Executor> executor) noexcept;

  std::size_t size() const;
  std::uint64_t bytes() const;  // of all plans

 private:
  void charge(KeptPlan& plan, std::uint64_t bytes, const MemoryBudget* budget);
  void trim(const PlanBounds& bounds, const void* next_owner = nullptr);
  std::uint64_t allowance(const PlanBounds& bounds) const;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<KeptPlan>> plans_;  // most recently used first
  std::uint64_t largest_arena_ = 0;
  std::uint64_t largest_total_ = 0;
};

}  // namespace ondine::trainer
