// Orders the nodes of a typed graph, binds them and gives their values buffers.
#pragma once

#include <memory>
#include <vector>

#include "trainer/plan/original_nodes.h"
#include "trainer/plan/place/shared_kernels.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/schedule/commit_scope.h"

namespace ondine::trainer {

class Planner {
 public:
  // `known`: kernels of a graph from which this one was made by repeating nodes, converting values
  // and removing nodes. Originals and options must outlive the planner.
  Planner(graph::Graph graph, const OriginalNodes& originals, const PlanOptions& options,
          CommitScope scope, SharedKernels known = {});

  // Once. Throws as make_plan does, but takes any number of bytes for the arena, of which it gives
  // an estimate: place() comes last.
  Plan run();

  // Position of each node of the plan in the graph that was planned. To be called after run().
  std::vector<std::size_t> take_former() { return std::move(former_); }
  SharedKernels take_kernels() { return std::move(kernels_); }

 private:
  static std::size_t index(graph::ValueId id) { return static_cast<std::size_t>(id); }

  std::size_t add_buffer(graph::ValueId id, BufferKind kind, std::int32_t position);
  void join_buffer(graph::ValueId id, std::size_t buffer, std::int32_t position);
  void extend(graph::ValueId id, std::int32_t position);
  void place_inputs();
  void count_readers();
  void plan_nodes();
  PlannedNode bind(std::shared_ptr<const graph::Node> node);
  void check_commit();
  void check_sizes(const graph::Node& node) const;
  void place_outputs(const PlannedNode& planned, std::int32_t position);
  bool share_input(const graph::Node& node, std::size_t k, std::int32_t position);
  bool can_overwrite(const graph::Node& node, std::size_t i, std::size_t k) const;
  void count_bytes();

  const OriginalNodes* originals_;
  const PlanOptions* options_;
  CommitScope scope_;
  SharedKernels kernels_;
  Plan plan_;
  std::int32_t end_ = 0;  // the position after the last node
  std::vector<std::size_t> former_;
  std::vector<bool> targets_;
  std::vector<int> readers_;            // by value
  std::vector<int> pending_readers_;    // by buffer: of its values
  std::vector<graph::ValueId> owners_;  // by buffer: its first value
};

// Gives the buffers of the arena their places, and the plan the bytes that these take.
void place(Plan& plan);

}  // namespace ondine::trainer
