// A graph whose derivatives are checked, with the values at which that is done.
#pragma once

#include <vector>

#include "tests/support/op_harness.h"

namespace ondine::test {

struct GradientSetup {
  // Builds the graph with the expression's inputs as its inputs, dynamic or of known dims. With
  // known dims, tensors of another dtype than `number` are constants. No derivative is taken by the
  // inputs at the positions in `skip`.
  GradientSetup(const Expression& expression, const std::vector<Value>& inputs,
                const std::vector<std::size_t>& skip, bool dynamic, DType number = DType::float64);
  GradientSetup(const GradientSetup&) = delete;

  graph::Val add_input(const Value& value, bool dynamic);
  // A copy with the present graph and ys, to evaluate these again.
  GradientSetup forward() const { return GradientSetup(*this, 0); }

  std::vector<Tensor> evaluate(const std::vector<graph::Val>& outputs) const;
  // Values of the derivatives; zeros if there is no dependence. Checks that their shapes are the
  // inputs'.
  std::vector<Tensor> evaluate_derivatives(const std::vector<graph::Val>& derivatives) const;
  // Values of ys with these values of the inputs, evaluated in a copy.
  std::vector<Value> outputs_at(const std::vector<Value>& inputs) const;
  // d/dx of sum_k <weights_k, ys_k> for one element of xs[x], by central differences.
  double numeric(std::size_t x, std::size_t element, const std::vector<Tensor>& weights,
                 double relative_step) const;
  // Enters operators into checked_gradients(): those of the expression as checked to `order`, and
  // those of `differentiated`, the graph that was differentiated this time, to order 1.
  void record(int order, double error, const graph::Graph& differentiated) const;

  graph::Graph graph;
  graph::Builder builder;
  std::vector<Value> fed;
  std::vector<graph::Val> xs;  // the double inputs
  std::vector<graph::Val> ys;  // the double outputs

 private:
  GradientSetup(const GradientSetup& other, int);
  void set_expansion();
  graph::Graph runnable(const std::vector<graph::Val>& outputs) const;
  std::size_t position(graph::Val x) const;

  graph::Graph runnable_;  // of a copy: computes ys
  // (domain, operator) with the inputs that carry derivatives.
  using Operators =
      std::vector<std::pair<std::pair<std::string, std::string>, std::set<std::size_t>>>;
  Operators operators_of(const std::vector<graph::Node>& nodes, const graph::Graph& in) const;

  Operators operators_;  // of the expression
  bool coarse_ = false;  // its result is float whatever it gets
};

}  // namespace ondine::test
