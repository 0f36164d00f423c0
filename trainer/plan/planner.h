// Orders the nodes of a typed graph, binds them and places their values.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "trainer/plan/plan.h"

namespace ondine::trainer {

// What binding a node told.
struct NodeBinding {
  std::size_t workspace_bytes = 0;
  graph::Implementation implementation = {};
};

// The bindings of a plan's nodes, by the value of their first output. They hold for all graphs that
// are made of the planned one by repeating nodes, converting values and removing nodes, since that
// changes neither types nor attributes of the nodes that stay.
class Bindings {
 public:
  void add(const graph::Node& node, const std::optional<NodeBinding>& binding);
  // nullptr where the node was not bound before; nullopt where it can only be bound in a call.
  const std::optional<NodeBinding>* find(const graph::Node& node) const;

 private:
  struct Entry {
    bool known = false;
    std::optional<NodeBinding> binding;
  };
  std::vector<Entry> by_output_;
};

class Planner {
 public:
  // `known`, which may be null, must outlive the planner, as must the options.
  Planner(graph::Graph graph, const PlanOptions& options, const Bindings* known = nullptr);

  // Once. Throws as make_plan does.
  Plan run();

  // After run(). By node of the plan: its position in the graph that was planned.
  std::vector<std::size_t> take_former() { return std::move(former_); }
  Bindings take_bindings() { return std::move(bindings_); }

 private:
  static std::size_t index(graph::ValueId id) { return static_cast<std::size_t>(id); }

  std::size_t add_buffer(graph::ValueId id, BufferKind kind, std::int32_t position);
  void join_buffer(graph::ValueId id, std::size_t buffer, std::int32_t position);
  void extend(graph::ValueId id, std::int32_t position);
  void place_inputs();
  void count_readers();
  void plan_nodes();
  std::optional<NodeBinding> bind(const graph::Node& node);
  void check_commit();
  void check_sizes(const graph::Node& node) const;
  void place_outputs(const PlannedNode& planned, std::int32_t position);
  bool share_input(const graph::Node& node, std::size_t k, std::int32_t position);
  bool can_overwrite(const graph::Node& node, std::size_t i, std::size_t k) const;
  int pending_readers(std::size_t buffer) const;
  void pack();
  void count_bytes();
  std::string_view largest_value() const;

  const PlanOptions* options_;
  const Bindings* known_;
  Bindings bindings_;
  Plan plan_;
  std::int32_t end_ = 0;  // the position after the last node
  std::vector<std::size_t> former_;
  std::vector<bool> targets_;
  std::vector<int> readers_;
  std::vector<std::vector<graph::ValueId>> members_;  // values of each buffer
};

}  // namespace ondine::trainer
