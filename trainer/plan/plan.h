// Stage 7: order, buffers and offsets for given input shapes. A pure function of graph and types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ondine/limits.h>

#include "core/parallel.h"
#include "graph/contract/kernel.h"
#include "graph/ir/graph.h"
#include "trainer/plan/order.h"

namespace ondine::trainer {

// Where the elements of a value lie while a call runs.
enum class BufferKind : std::uint8_t {
  none,      // nothing reads it
  external,  // fed or state: the caller's memory
  constant,
  arena,
  target,   // the memory the caller wants this output in
  dynamic,  // shape known only when reached, or no fixed-size elements
};

struct Buffer {
  BufferKind kind = BufferKind::none;
  std::size_t offset = 0;  // arena
  std::size_t bytes = 0;
  std::int32_t first = 0;  // positions in Plan::nodes between which it is in use, inclusive
  std::int32_t last = 0;
};

inline constexpr std::size_t no_buffer = static_cast<std::size_t>(-1);

struct PlannedNode {
  graph::Node node;
  bool dynamic = false;
  std::size_t workspace = no_buffer;          // index in Plan::buffers
  graph::Implementation implementation = {};  // as bind reported it; empty where dynamic
};

struct Plan {
  graph::Graph graph;  // typed for the input shapes; its nodes are those of `nodes`
  std::vector<PlannedNode> nodes;
  std::vector<std::size_t> buffer_of;  // by value id; no_buffer for none. Views share a buffer
  std::vector<Buffer> buffers;
  std::size_t arena_bytes = 0;
  std::vector<bool> in_place;     // of PlanOptions::in_place: may be the memory of the input
  std::vector<bool> committed;    // of PlanOptions::in_place: computed in the commit section
  std::size_t commit_begin = 0;   // nodes from here on cannot fail; nodes.size(): none
  std::uint64_t total_bytes = 0;  // arena, constants, state and its next values
};

struct PlanOptions {
  // Values that the caller wants in memory of its own (BufferKind::target) where that saves a copy.
  std::span<const graph::ValueId> targets;
  // Targets that should go where an input lies.
  std::span<const InPlace> in_place;
  bool commit_last = false;  // those only that can be computed after all that can fail
  // Of Plan::total_bytes. With one, values are computed again only where they must be to fit;
  // without, where that adds little memory traffic.
  std::optional<std::uint64_t> memory_budget;
  std::uint64_t state_bytes = 0;  // state, and next values that are no targets
  const Limits* limits = nullptr;
  int threads = 1;
};

// `inputs` are the types of graph.inputs with every dim known where the value is a tensor.
// Nodes that no output needs are left out, what is fixed by the shapes is computed now. Throws
// Error(mismatch) where the shapes do not fit the operators and Error(limit) above
// Limits::arena_bytes or a budget that recomputation does not reach.
Plan make_plan(const graph::Graph& graph, std::span<const graph::Type> inputs,
               const PlanOptions& options);

// Throws Error(internal) when a node reads what was not written before or was overwritten since,
// when memory of one node overlaps, or an output takes the memory of an input that its operator
// still reads. `in_place` is that of the options. Independent of how the plan was made.
void verify_plan(const Plan& plan, std::span<const InPlace> in_place = {});

// Whether every plan is to be verified: in builds with assertions, and where the environment has
// ONDINE_VERIFY_PLANS, as in the tests.
bool verifies_plans() noexcept;

}  // namespace ondine::trainer
