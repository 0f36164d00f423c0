// The call graph of functions: recursion, call depth and size after inlining, computed without
// inlining.
#include <algorithm>
#include <limits>

#include "graph/check/rules.h"
#include "graph/ir/walk.h"

namespace ondine::graph {
namespace {

// Sizes saturate here.
constexpr std::uint64_t max_size = std::uint64_t{1} << 60;

// Nodes of a graph or function, including those in subgraphs.
struct Code {
  std::uint64_t own_nodes = 0;
  std::map<std::size_t, std::uint64_t> calls;  // function -> number of nodes that call it
};

Code read(const std::vector<NodeDef>& nodes, const FunctionTable& functions) {
  Code code;
  for_each_node(nodes, [&](const NodeDef& node) {
    if (const auto callee = functions.find(node)) {
      ++code.calls[*callee];
    } else {
      ++code.own_nodes;
    }
  });
  return code;
}

class CallGraph {
 public:
  explicit CallGraph(CheckContext& context) : context_(context), states_(context.functions.size()) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i].code = read(context.functions[i].nodes, context.functions);
    }
    for (std::size_t i = 0; i < states_.size(); ++i) visit(i);
  }

  // Checks a graph of the model and returns its size; `before` is the size of a graph run before
  // it.
  std::uint64_t check(const std::vector<NodeDef>& nodes, std::string_view what,
                      std::uint64_t before = 0) {
    const Code code = read(nodes, context_.functions);
    const Size size = size_of(code);
    const std::uint64_t total = std::min(max_size, size.nodes + before);
    const Limits& limits = context_.limits;
    if (total > limits.nodes) {
      const std::string count = total < max_size ? cat(total) : cat("more than ", max_size);
      context_.findings.add(ErrorCode::limit, what, " has ", count,
                            " nodes with its functions inlined, the limit is ", limits.nodes);
    }
    if (size.depth > static_cast<std::uint64_t>(std::max(0, limits.call_depth))) {
      context_.findings.add(ErrorCode::limit, what, " calls functions ", size.depth,
                            " deep, the limit is ", limits.call_depth);
    }
    for (const auto& [callee, count] : code.calls) mark_called(callee);
    return total;
  }

  std::vector<bool> called() const {
    std::vector<bool> out;
    for (const auto& state : states_) out.push_back(state.called);
    return out;
  }

 private:
  struct Size {
    std::uint64_t nodes = 0;
    std::uint64_t depth = 0;
  };
  enum class Progress : std::uint8_t { unvisited, active, done };
  struct State {
    Code code;
    Size size;
    Progress progress = Progress::unvisited;
    bool called = false;
  };
  struct Frame {
    std::size_t function;
    std::map<std::size_t, std::uint64_t>::const_iterator next;
  };

  Size size_of(const Code& code) const {
    Size size{code.own_nodes, 0};
    for (const auto& [callee, count] : code.calls) {
      const Size& inner = states_[callee].size;
      std::uint64_t nodes = 0;
      if (__builtin_mul_overflow(inner.nodes, count, &nodes)) nodes = max_size;
      size.nodes = std::min(max_size, size.nodes + std::min(max_size, nodes));
      size.depth = std::max(size.depth, inner.depth + 1);
    }
    return size;
  }

  // Depth-first search with a stack of its own: computes sizes bottom-up and finds cycles.
  void visit(std::size_t root) {
    if (states_[root].progress != Progress::unvisited) return;
    std::vector<Frame> stack{{root, states_[root].code.calls.begin()}};
    states_[root].progress = Progress::active;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      State& state = states_[frame.function];
      if (frame.next == state.code.calls.end()) {
        state.size = size_of(state.code);
        state.progress = Progress::done;
        stack.pop_back();
        continue;
      }
      const std::size_t callee = (frame.next++)->first;
      if (states_[callee].progress == Progress::active) {
        const std::string caller = describe(context_.functions[frame.function]);
        context_.findings.add(ErrorCode::invalid_model, describe(context_.functions[callee]),
                              " calls itself",
                              callee == frame.function ? "" : " through " + caller);
      } else if (states_[callee].progress == Progress::unvisited) {
        states_[callee].progress = Progress::active;
        stack.push_back({callee, states_[callee].code.calls.begin()});
      }
    }
  }

  void mark_called(std::size_t root) {
    std::vector<std::size_t> pending{root};
    while (!pending.empty()) {
      State& state = states_[pending.back()];
      pending.pop_back();
      if (state.called) continue;
      state.called = true;
      for (const auto& [callee, count] : state.code.calls) pending.push_back(callee);
    }
  }

  CheckContext& context_;
  std::vector<State> states_;
};

}  // namespace

std::vector<bool> check_calls(CheckContext& context) {
  CallGraph calls(context);
  const std::uint64_t main = calls.check(context.model.graph.nodes, "the main graph");
  for (std::size_t i = 0; i < context.model.training.size(); ++i) {
    const auto& info = context.model.training[i];
    if (info.initialization) {
      calls.check(info.initialization->nodes, cat("the initialization graph of training_info ", i));
    }
    if (info.algorithm) {
      calls.check(info.algorithm->nodes, cat("the algorithm graph of training_info ", i), main);
    }
  }
  return calls.called();
}

}  // namespace ondine::graph
