// Contexts in which kernels are bound to shapes and run.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <ondine/limits.h>
#include <ondine/precision.h>
#include <ondine/value.h>

#include "core/budget.h"
#include "core/parallel.h"
#include "core/random/random.h"
#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"

namespace ondine::graph {

// An executable subgraph. Owned by the executor.
class SubgraphRunner {
 public:
  virtual ~SubgraphRunner() = default;
  // Runs the subgraph once. `inputs` are its formal inputs; captures come from the running node.
  // `iteration` gives each call within one run of the node random streams of its own. The outputs
  // own their memory.
  virtual std::vector<Value> run(KernelContext& context, std::span<const Value> inputs,
                                 std::uint64_t iteration) = 0;
};

// The implementation that a bound kernel runs. Both strings have static storage duration; empty:
// the only implementation, in portable C++.
struct Implementation {
  std::string_view name;  // of the primitive: "winograd", "depthwise", "gemm"
  std::string_view isa;   // instruction set it was compiled for: "avx2"

  friend bool operator==(const Implementation&, const Implementation&) = default;
};

class BindContext : public NodeView {
 public:
  using NodeView::NodeView;
  virtual ~BindContext() = default;

  virtual const Type& input_type(std::size_t i) const = 0;
  virtual const Type& output_type(std::size_t i) const = 0;
  // The elements of input i; nullptr unless they are known at planning time.
  virtual const Tensor* constant(std::size_t i) const = 0;
  // Reserves `bytes` of scratch memory for each call: KernelContext::workspace, 64-byte aligned.
  virtual void request_workspace(std::size_t bytes) = 0;
  virtual SubgraphRunner* subgraph(std::size_t index) = 0;
  virtual const Limits& limits() const = 0;
  // Threads of the pool that will run the kernel. Only the size of the workspace may depend on it.
  virtual int threads() const { return 1; }

  // Precision of products of float32 tensors.
  virtual Precision precision() const { return Precision::float32; }

  // Reports the chosen implementation, for `ondine inspect --stage plan`; the last call counts.
  // Both strings must have static storage duration. Does not affect results.
  void set_implementation(std::string_view name, std::string_view isa = {}) noexcept {
    implementation_ = {name, isa};
  }
  const Implementation& implementation() const noexcept { return implementation_; }

  DType dtype(std::size_t i) const { return input_type(i).dtype; }
  Shape shape(std::size_t i) const;  // of tensor input i
  std::size_t rank(std::size_t i) const { return shape(i).rank(); }
  DType output_dtype(std::size_t i) const { return output_type(i).dtype; }
  // Absent when the shape depends on data: the kernel then calls KernelContext::allocate.
  std::optional<Shape> output_shape(std::size_t i) const { return output_type(i).shape(); }

 private:
  Implementation implementation_;
};

// The arguments of one call. Elements are row-major; all but fed inputs, which stay in the caller's
// memory, are 64-byte aligned.
class KernelContext {
 public:
  struct Slot {
    void* data = nullptr;    // elements of a tensor
    Value* value = nullptr;  // the value, unless it is a tensor of fixed shape
  };

  virtual ~KernelContext() = default;

  template <class T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(inputs_[i].data);
  }
  template <class T>
  T* out(std::size_t i) const {
    return static_cast<T*>(outputs_[i].data);
  }
  template <class T = std::byte>
  T* workspace() const {
    return static_cast<T*>(workspace_);
  }

  // Input i as a value. Its memory may be reused after the call.
  virtual Value value(std::size_t i) const = 0;
  // Input i in memory of its own, for storing it in a sequence or optional.
  virtual Value owned_value(std::size_t i) const = 0;
  // Memory for tensor output i, whose shape inference could not determine; valid until the last
  // read of the value.
  virtual void* allocate(std::size_t i, const Shape& shape) = 0;
  virtual void set_value(std::size_t i, Value value) = 0;

  ThreadPool& pool() const noexcept { return *pool_; }
  // The random stream of this node in this call.
  const RandomKey& random() const noexcept { return random_; }
  // Throws Error(cancelled) when the caller asked to stop, Error(limit) past the deadline.
  virtual void check_cancelled() const = 0;
  // Counts one loop iteration. Throws Error(limit) past Limits::loop_iterations.
  virtual void count_iteration() = 0;
  virtual const std::shared_ptr<MemoryBudget>& budget() const = 0;

 protected:
  std::span<const Slot> inputs_;  // Node::all_inputs()
  std::span<const Slot> outputs_;
  void* workspace_ = nullptr;
  ThreadPool* pool_ = nullptr;
  RandomKey random_;
};

}  // namespace ondine::graph
