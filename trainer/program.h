// One callable graph (inference, a training step, an initialization) with its plans.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/model.h>
#include <ondine/value.h>

#include "graph/ir/graph.h"
#include "trainer/exec/executor.h"

namespace ondine::trainer {

// How programs run; shared by all of a model.
struct Runtime {
  Limits limits;
  int threads = 1;
  UpdatePolicy updates = UpdatePolicy::atomic;
  std::optional<std::uint64_t> memory_budget;
  std::uint64_t state_bytes = 0;  // of all variables, once
  std::shared_ptr<MemoryBudget> budget;
  std::unique_ptr<ThreadPool> pool;
};

// An executor on loan; goes back when destroyed.
class ExecutorLease;

// What a program is to compute and where.
struct Wanted {
  std::vector<graph::ValueId> values;
  std::vector<graph::ValueId> targets;  // those of them that may go to the caller's memory
  std::vector<InPlace> in_place;        // targets that should go where an input lies
  bool commit_last = false;             // see PlanOptions
  std::uint64_t next_bytes = 0;         // next values of the state that are no targets
};

// Wants a subset of a graph's values as outputs. Plans are made for each combination of input
// shapes once and kept, the least recently used ones are dropped. Thread-safe.
class Program {
 public:
  Program(std::shared_ptr<const graph::Graph> graph, Wanted wanted, const Runtime& runtime);
  ~Program();

  const graph::Graph& graph() const noexcept { return *graph_; }
  const Wanted& wanted() const noexcept { return wanted_; }

  // An executor for inputs of these values' types, its inputs set.
  ExecutorLease acquire(std::span<const Value> inputs);
  // The plan for these inputs.
  std::shared_ptr<const Plan> plan(std::span<const Value> inputs);
  // A plan for inputs of these types, which is not kept.
  Plan plan(std::span<const graph::Type> inputs) const;

 private:
  friend class ExecutorLease;
  struct Variant;
  Variant& variant(std::span<const Value> inputs);

  std::shared_ptr<const graph::Graph> graph_;
  Wanted wanted_;
  const Runtime* runtime_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Variant>> variants_;  // most recently used first
};

class ExecutorLease {
 public:
  ExecutorLease(std::shared_ptr<Program::Variant> variant, std::unique_ptr<Executor> executor,
                Program& program);
  ExecutorLease(ExecutorLease&&) noexcept;
  ~ExecutorLease();
  Executor& operator*() const noexcept { return *executor_; }
  Executor* operator->() const noexcept { return executor_.get(); }

 private:
  std::shared_ptr<Program::Variant> variant_;
  std::unique_ptr<Executor> executor_;
  Program* program_;
};

}  // namespace ondine::trainer
