// Type and shape inference of one node. The same rule runs when a model is loaded (dims may be
// dynamic or symbolic), when a plan is made (dims are known) and when a run reaches a shape that
// depends on data.
#pragma once

#include <functional>

#include "graph/contract/node_view.h"

namespace ondine::graph {

class InferContext : public NodeView {
 public:
  struct Input {
    const Type* type = nullptr;        // nullptr where the input is omitted
    const Tensor* constant = nullptr;  // the elements, where known
    const Dims* known_dims = nullptr;  // elements of an int64 vector or scalar, some dynamic
    bool* read = nullptr;              // set when the rule reads the elements
  };
  struct Output {
    Type type;
    std::optional<Dims> known_dims;
  };

  // Infers a subgraph for the given types of its formal inputs; returns the types of its outputs.
  using InferSubgraph =
      std::function<std::vector<Type>(std::size_t subgraph, std::span<const Type>)>;

  InferContext(const Node& node, std::span<const Input> inputs, InferSubgraph infer_subgraph = {});

  // Throws Error(invalid_model) when input i is omitted.
  const Type& input(std::size_t i) const;
  DType dtype(std::size_t i) const { return input(i).dtype; }
  bool ranked(std::size_t i) const { return input(i).ranked(); }
  const Dims& dims(std::size_t i) const { return *input(i).dims; }  // ranked(i) only
  std::size_t rank(std::size_t i) const { return dims(i).size(); }
  // The elements of input i; nullptr while unknown.
  const Tensor* constant(std::size_t i) const;
  // The elements of an integer vector or scalar input; those that are unknown are dynamic.
  std::optional<Dims> known_dims(std::size_t i) const;
  // The elements as integers; nullopt unless every element is known.
  std::optional<std::vector<std::int64_t>> known_ints(std::size_t i) const;

  std::vector<Type> infer_subgraph(std::size_t subgraph, std::span<const Type> formal_inputs) const;

  void set_output(std::size_t i, Type type);
  void set_output(std::size_t i, DType dtype, std::optional<Dims> dims);
  // Elements of output i, an int64 vector or scalar.
  void set_known_dims(std::size_t i, Dims dims);
  std::span<const Output> outputs() const noexcept { return outputs_; }

  // Error(mismatch) with the given message.
  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorCode::mismatch, parts...);
  }

 private:
  const Input* elements_of(std::size_t i) const;

  std::span<const Input> inputs_;
  InferSubgraph infer_subgraph_;
  std::vector<Output> outputs_;
};

// The common size of dims that must agree. Throws Error(mismatch) for two different known sizes;
// `what` names them in the message.
Dim unify(Dim a, Dim b, std::string_view what);
// Multidirectional broadcasting (opset 7 and later).
Dims broadcast(const Dims& a, const Dims& b);
// Broadcasts the dims of all inputs; nullopt when a rank is unknown.
std::optional<Dims> broadcast_inputs(const InferContext& context);

// Rules shared by many operators.
void infer_same_as_input(InferContext& context);  // output 0 has the type of input 0
void infer_broadcast(InferContext& context);      // output 0: dtype of input 0, broadcast dims

// Arithmetic on dims: dynamic where the result is unknown. Throw Error(limit) on overflow.
Dim multiply(Dim a, Dim b);
Dim add(Dim a, Dim b);
Dim product(std::span<const Dim> dims);

}  // namespace ondine::graph
