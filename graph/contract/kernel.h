// Binding a node to memory shapes and running it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <ondine/limits.h>
#include <ondine/value.h>

#include "core/budget.h"
#include "core/parallel.h"
#include "core/random.h"
#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"

namespace ondine::graph {

// A body made executable. Owned by the executor.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  // Runs the body once. `inputs` are its formal inputs; captures are taken from the running node.
  // `iteration` tells calls within one run of the node apart (random streams). The outputs own
  // their memory.
  virtual std::vector<Value> run(KernelContext& context, std::span<const Value> inputs,
                                 std::uint64_t iteration) = 0;
};

// Which code a bound kernel runs. Both are literals; empty: the operator has one implementation in
// portable C++.
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
  // The elements of input i, when they are known while planning.
  virtual const Tensor* constant(std::size_t i) const = 0;
  // `bytes` of scratch memory for the time of each call, 64-byte aligned: KernelContext::workspace.
  virtual void request_workspace(std::size_t bytes) = 0;
  virtual BodyRunner* body(std::size_t index) = 0;
  virtual const Limits& limits() const = 0;
  // Of the pool the kernel will run on. Only the size of the workspace may depend on it.
  virtual int threads() const { return 1; }

  // Reports what bind chose, for `ondine inspect --stage plan`; the last call counts. Both names
  // must have static storage duration. Changes nothing that the kernel computes.
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

// Pointers for one call. Elements are row-major and 64-byte aligned except for fed inputs, which
// lie where the caller has them.
class KernelContext {
 public:
  struct Slot {
    void* data = nullptr;    // elements of a tensor
    Value* value = nullptr;  // the whole value, for what is no fixed-shape tensor
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

  // Input i as a value. It may lie in memory that is reused after the call.
  virtual Value value(std::size_t i) const = 0;
  // Input i in memory of its own, for what a sequence or optional keeps.
  virtual Value owned_value(std::size_t i) const = 0;
  // Memory for tensor output i, whose shape inference left open; valid until the value is last
  // read.
  virtual void* allocate(std::size_t i, const Shape& shape) = 0;
  virtual void set_value(std::size_t i, Value value) = 0;

  ThreadPool& pool() const noexcept { return *pool_; }
  // The stream of this node in this call.
  const RandomKey& random() const noexcept { return random_; }
  // Error(cancelled) when the caller asked to stop, Error(limit) past the deadline.
  virtual void check_cancelled() const = 0;
  // Counts one iteration of a loop against Limits::loop_iterations.
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
