// Type and shape inference of one node. The same rule runs when a model is loaded (extents may be
// open or named), when a plan is made (known) and when a data-dependent shape is reached.
#pragma once

#include <functional>

#include "graph/contract/node_view.h"

namespace ondine::graph {

class InferContext : public NodeView {
 public:
  struct Input {
    const Type* type = nullptr;        // nullptr where the input is omitted
    const Tensor* constant = nullptr;  // the elements, where they are known
    const Dims* known_dims = nullptr;  // elements of an int64 vector or scalar, some may be open
    bool* read = nullptr;              // set when the rule looks at the elements
  };
  struct Output {
    Type type;
    std::optional<Dims> known_dims;
  };

  // Infers a body for the given types of its formal inputs and returns those of its outputs.
  using InferBody = std::function<std::vector<Type>(std::size_t body, std::span<const Type>)>;

  InferContext(const Node& node, std::span<const Input> inputs, InferBody infer_body = {});

  // Throws Error(invalid_model) when input i is omitted.
  const Type& input(std::size_t i) const;
  DType dtype(std::size_t i) const { return input(i).dtype; }
  bool ranked(std::size_t i) const { return input(i).ranked(); }
  const Dims& dims(std::size_t i) const { return *input(i).dims; }  // ranked(i) only
  std::size_t rank(std::size_t i) const { return dims(i).size(); }
  // The elements of input i if they are known now.
  const Tensor* constant(std::size_t i) const;
  // The elements of an integer vector or scalar input, as far as they are known.
  std::optional<Dims> known_dims(std::size_t i) const;
  // The same when every element is known.
  std::optional<std::vector<std::int64_t>> known_ints(std::size_t i) const;

  std::vector<Type> infer_body(std::size_t body, std::span<const Type> formal_inputs) const;

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
  InferBody infer_body_;
  std::vector<Output> outputs_;
};

// The common extent of dims that must agree; rejects two different known ones. `what` names it.
Dim unify(Dim a, Dim b, std::string_view what);
// Multidirectional broadcasting (opset 7 and later).
Dims broadcast(const Dims& a, const Dims& b);
// The same over all inputs; absent when some rank is open.
std::optional<Dims> broadcast_inputs(const InferContext& context);

// Rules that many operators share.
void infer_same_as_input(InferContext& context);  // output 0 has the type of input 0
void infer_broadcast(InferContext& context);      // output 0: dtype of input 0, broadcast dims

// a * b and a + b where they can be said.
Dim multiply(Dim a, Dim b);
Dim add(Dim a, Dim b);
Dim product(std::span<const Dim> dims);

}  // namespace ondine::graph
