// Executor: a plan with bound kernels; the memory of its arena is lent to it for each call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ondine/model.h>
#include <ondine/value.h>

#include "graph/evaluate/call_state.h"
#include "graph/evaluate/node_runner.h"
#include "trainer/exec/streamer.h"
#include "trainer/plan/plan.h"

namespace ondine::trainer {

using Profile = std::map<std::string_view, ProfileEntry>;

// Runs a plan, any number of times. Not thread-safe; different executors of a plan are independent.
// Runs allocate nothing unless the plan has dynamic nodes.
class Executor {
 public:
  Executor(std::shared_ptr<const Plan> plan, const Limits& limits, int threads);
  ~Executor();

  // Sets the memory of Plan::arena_bytes bytes that values take until another is set. Its content
  // may be anything.
  void set_arena(std::byte* memory) noexcept;
  // Drops inputs and results, so that their memory may go.
  void clear() noexcept;

  // Sets the value of graph.inputs[i]. Its memory must stay valid during the run.
  void set_input(std::size_t i, const Value& value);
  // Sets the memory of a value with BufferKind::target.
  void set_target(graph::ValueId id, void* data);

  // Called after each node with its position in the plan.
  using Watch = std::function<void(std::size_t position)>;

  // Runs the nodes before the plan's commit section, with a check of the call before each and, as
  // long as it can still be stopped, after the last. With a profile, adds the time of each node to
  // the entry of its operator.
  void run(graph::CallState& call, Profile* profile = nullptr, const Watch* watch = nullptr);
  // Runs the commit section, after run() with the same arguments. Does not throw.
  void commit(graph::CallState& call, Profile* profile = nullptr) noexcept;

  // Runs one node before the commit section, after run() and in order.
  void run_again(graph::CallState& call, std::size_t position) { run_node(call, position); }

  // Output i of the graph. The next run reuses the memory of tensors.
  Value output(std::size_t i) const;
  // The value with this id: an output of the graph or what the node that runs next reads.
  Value value(graph::ValueId id) const;

  const Plan& plan() const noexcept { return *plan_; }

  // Estimated bytes of the heap that it takes while no call runs, without the plan.
  std::size_t bytes() const noexcept;

 private:
  class StaticContext;

  void hold_values();
  void bind_nodes(const Limits& limits, int threads);
  void place_slots();
  void connect_slots();
  void patch(std::size_t buffer, void* data) noexcept;
  Value& held(std::size_t id) { return held_[place_of_[id]]; }
  const Value& held(std::size_t id) const { return held_[place_of_[id]]; }
  void run_dynamic(graph::CallState& call, std::size_t position);
  void run_node(graph::CallState& call, std::size_t position);
  void run_timed(graph::CallState& call, std::size_t position, Profile* profile);

  std::shared_ptr<const Plan> plan_;
  // Whether nodes before the commit section write over variables.
  bool updates_early_;
  std::byte* arena_ = nullptr;
  std::vector<void*> memory_;  // by buffer
  // Memory of the inputs and outputs of all static nodes, one node after the other. The slots of
  // node i begin at first_slot_[i].
  std::vector<graph::KernelContext::Slot> slots_;
  std::vector<std::uint32_t> first_slot_;
  // The slots in the order of their buffers; those of buffer i, unless it is constant, begin at
  // first_slot_of_[i].
  std::vector<std::uint32_t> slot_order_;
  std::vector<std::uint32_t> first_slot_of_;
  // Feeds, constants and dynamic values, and by value id where it lies: at 0 where it is not held.
  std::vector<Value> held_;
  std::vector<std::uint32_t> place_of_;
  std::vector<graph::Kernel> kernels_;                       // by kernel of the plan
  std::vector<std::unique_ptr<graph::NodeRunner>> dynamic_;  // by node up to the last dynamic one
  std::optional<Streamer> streamer_;
  std::unique_ptr<StaticContext> context_;  // of the static node that runs
};

}  // namespace ondine::trainer
