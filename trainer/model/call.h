// Call: a function with a choice of outputs, and its plans.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/model.h>
#include <ondine/value.h>

#include "graph/ir/graph.h"
#include "graph/resolve/dim_classes.h"
#include "proto/mapped_file.h"
#include "trainer/exec/arena_pool.h"
#include "trainer/exec/executor.h"
#include "trainer/exec/kept_plans.h"
#include "trainer/warning_log.h"

namespace ondine::trainer {

class OutputMemory;
struct Function;

// The environment of calls, shared by all calls of a model.
struct Runtime {
  Limits limits;
  int threads = 1;
  Precision precision = Precision::float32;
  UpdatePolicy updates = UpdatePolicy::atomic;
  std::optional<std::uint64_t> memory_budget;
  std::vector<std::weak_ptr<const MappedFile>> files;  // that weights may lie in
  std::shared_ptr<RoundedWeights> rounded;             // null where no product rounds
  std::uint64_t state_bytes = 0;                       // of one version of all variables
  std::shared_ptr<MemoryBudget> budget;
  std::unique_ptr<ArenaPool> arenas = std::make_unique<ArenaPool>();
  std::shared_ptr<OutputMemory> outputs;  // of results that a call makes
  std::shared_ptr<KeptPlans> plans = std::make_shared<KeptPlans>();
  std::unique_ptr<ThreadPool> pool;
  // Takes what contradicts the declared outputs; null where that is an error.
  std::unique_ptr<WarningLog> warnings;
};

// An executor borrowed from a Call, with an arena from the runtime; returned by the destructor.
class ExecutorLease;

// Computes some outputs and all updates of a function. Its plans are kept for shapes that come
// again. Thread-safe.
class Call {
 public:
  // Throws Error(mismatch) for a name that is not an output. `runtime` must outlive the call.
  Call(const Function& function, std::span<const std::string> names, const Runtime& runtime);
  ~Call();

  std::span<const std::string> names() const noexcept { return names_; }
  // The value of names()[i].
  graph::ValueId output(std::size_t i) const { return outputs_[i]; }
  // Whether update i of the function is computed directly into the caller's memory.
  bool is_direct(std::size_t update) const { return direct_[update]; }
  // For each update, the input whose memory it should take; no_value for none.
  std::span<const InPlace> in_place() const noexcept { return in_place_; }

  // An executor for inputs of these types, with its inputs set. Allocates nothing when one is free
  // and an arena too. Where the budget lacks room for the arena, other plans are dropped.
  ExecutorLease acquire(std::span<const Value> inputs);
  // The plan for these inputs.
  std::shared_ptr<const Plan> plan(std::span<const Value> inputs);
  // A plan for inputs of these types; it is not kept.
  Plan plan(std::span<const graph::Type> inputs) const;

 private:
  void choose_targets(const Function& function);
  void check_dims(KeptPlan& kept) const;
  void warn_of_outputs(const KeptPlan& kept) const;
  PlanBounds bounds() const;
  std::shared_ptr<KeptPlan> keep_plan(std::span<const Value> inputs);
  Arena acquire_arena(const KeptPlan& kept) const;
  std::unique_ptr<Executor> acquire_executor(KeptPlan& kept) const;

  const Runtime* runtime_;
  std::vector<std::string> names_;
  std::vector<graph::ValueId> outputs_;  // by name
  std::vector<graph::Type> declared_;    // by name
  graph::DimClasses dims_;
  std::vector<bool> direct_;             // by update
  std::vector<graph::ValueId> targets_;  // the updates that are direct
  std::vector<InPlace> in_place_;
  std::uint64_t next_bytes_ = 0;               // next values of variables that are not targets
  std::shared_ptr<const graph::Graph> graph_;  // of the function
  std::vector<graph::ValueId> results_;        // what it computes: outputs, then updates
  std::shared_ptr<KeptPlans> plans_;           // of the runtime, which may go first
  std::mutex mutex_;                           // held while a plan is made
};

class ExecutorLease {
 public:
  ExecutorLease(std::shared_ptr<KeptPlan> kept, std::unique_ptr<Executor> executor, Arena arena,
                std::shared_ptr<KeptPlans> plans);
  ExecutorLease(ExecutorLease&&) noexcept;
  ~ExecutorLease();
  Executor& operator*() const noexcept { return *executor_; }
  Executor* operator->() const noexcept { return executor_.get(); }
  // After a run: Error(mismatch) when a result whose shape was not known before it gives a
  // dimension variable a second size.
  void check_dims() const;

 private:
  std::shared_ptr<KeptPlan> kept_;
  std::unique_ptr<Executor> executor_;
  Arena arena_;
  std::shared_ptr<KeptPlans> plans_;
};

}  // namespace ondine::trainer
