// Plan: execution order, buffers and offsets for given input shapes. A pure function of graph,
// types and options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ondine/limits.h>

#include "core/parallel.h"
#include "graph/contract/kernel.h"
#include "graph/ir/graph.h"
#include "trainer/plan/place/streaming.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {

class RoundedWeights;

// The storage of a value's elements during a call.
enum class BufferKind : std::uint8_t {
  none,      // nothing reads it
  external,  // feed or state: the caller's memory
  constant,
  arena,
  target,   // an output in memory chosen by the caller
  dynamic,  // its size depends on data
};

struct Buffer {
  BufferKind kind = BufferKind::none;
  std::size_t offset = 0;  // arena
  std::size_t bytes = 0;
  std::int32_t first = 0;  // lifetime as indices of Plan::nodes, inclusive
  std::int32_t last = 0;
};

inline constexpr std::size_t no_buffer = static_cast<std::size_t>(-1);

// A kernel of nodes that binding cannot tell apart: same operator and attributes, same types.
struct PlannedKernel {
  std::shared_ptr<const graph::Node> node;  // one of them
  std::size_t workspace_bytes = 0;
  graph::Implementation implementation = {};  // as reported by bind
};

struct PlannedNode {
  // Belongs to the graph that was planned where planning left the node as it was.
  std::shared_ptr<const graph::Node> node;
  bool dynamic = false;               // can only be bound in a call
  std::uint32_t kernel = 0;           // index in Plan::kernels, unless dynamic
  std::size_t workspace = no_buffer;  // index in Plan::buffers
};

struct Plan {
  graph::Graph graph;  // typed for the input shapes; its nodes are in `nodes`
  std::vector<PlannedNode> nodes;
  std::vector<PlannedKernel> kernels;
  std::vector<std::size_t> buffer_of;  // by value id; no_buffer if unused. Views share a buffer
  std::vector<Buffer> buffers;
  Precision precision = Precision::float32;  // of PlanOptions
  std::size_t arena_bytes = 0;
  std::vector<bool> in_place;          // of PlanOptions::in_place: takes the memory of the input
  std::vector<bool> committed;         // of PlanOptions::in_place: computed in the commit section
  std::size_t commit_begin = 0;        // nodes from here on cannot fail; nodes.size() if none
  std::uint64_t constant_bytes = 0;    // in memory at the same time
  std::uint64_t total_bytes = 0;       // arena, constants, state and its next values
  std::optional<Streaming> streaming;  // where constants must take turns to meet the budget
};

struct PlanOptions {
  // Values that the plan computes; absent: the outputs of the graph.
  std::optional<std::span<const graph::ValueId>> outputs;
  // Outputs to be computed into memory chosen by the caller (BufferKind::target) where that saves a
  // copy.
  std::span<const graph::ValueId> targets;
  // Targets that should take the memory of an input.
  std::span<const InPlace> in_place;
  bool commit_last = false;  // in place only for nodes of the commit section
  // Bound on Plan::total_bytes. With a bound, constants in `files` are streamed and values are
  // recomputed only as far as needed to stay below; without one, no constants are streamed, and
  // values are recomputed where that adds little memory traffic.
  std::optional<std::uint64_t> memory_budget;
  std::span<const std::shared_ptr<const MappedFile>> files;
  std::uint64_t state_bytes = 0;  // state, and next values that are not targets
  const Limits* limits = nullptr;
  int threads = 1;
  Precision precision = Precision::float32;
  RoundedWeights* rounded = nullptr;  // of constants that all products of the plan round
};

// `inputs` are the types of graph.inputs; dims of tensors must be known. Removes nodes that no
// output needs and evaluates what depends on shapes only. Throws Error(mismatch) for shapes that
// operators reject, and Error(limit) above Limits::arena_bytes or a budget that streaming
// and recomputation cannot meet.
Plan make_plan(const std::shared_ptr<const graph::Graph>& graph,
               std::span<const graph::Type> inputs, const PlanOptions& options);

// Throws Error(internal) when a node reads memory that is unwritten or was overwritten, when
// buffers of a node overlap, or when an output takes the memory of an input that its operator still
// reads. `in_place` is that of the options. Independent of the planner's code.
void verify_plan(const Plan& plan, std::span<const InPlace> in_place = {});

// Whether every plan is verified: in builds with assertions, and if the environment variable
// ONDINE_VERIFY_PLANS is set, as in the tests.
bool verifies_plans() noexcept;

}  // namespace ondine::trainer
