// A network of linear layers in plain loops, to compare prepared optimizers with.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ondine/prepare.h>

namespace ondine::test::optimizers {

using Numbers = std::vector<double>;

// A parameter as a matrix; vectors are rows of one.
struct Variable {
  std::string name;
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool is_vector = false;
  Numbers w;

  double& at(std::size_t i, std::size_t j) { return w[i * columns + j]; }
  double at(std::size_t i, std::size_t j) const { return w[i * columns + j]; }
};
using Variables = std::vector<Variable>;

// y = (((x w0 + b0) w1 + b1) ...) with the mean squared error. With `convolves` the first layer is
// a Conv whose window is the whole image, [out, 2, 1, in / 2]. float64.
struct Network {
  std::vector<std::size_t> sizes;
  std::size_t rows = 3;
  bool convolves = false;
  std::int64_t opset = 17;

  Variables start() const;
  std::vector<std::byte> model() const;
  NamedValues feeds() const;
  // Gradients of the loss by each variable.
  std::vector<Numbers> gradients(const Variables& at) const;
  double loss(const Variables& at) const;

 private:
  std::vector<Numbers> activations(const Variables& at) const;
  double weight(const Variables& at, std::size_t l, std::size_t i, std::size_t o) const;
};

// Moves the variables by step t, counted from 1; `gradient` computes it anywhere.
using Rule = std::function<void(Variables&, double t, const Network&)>;

// Trains both for 20 steps and compares every parameter after each of them. `look` sees the model
// between its step and that of the rule.
using Look = std::function<void(const Model&)>;
void check_rule(const Network& network, const PrepareOptions& options, const Rule& rule,
                const Look& look = {});

// Adam as in the standard, with AdamW's decay, of one variable.
struct AdamState {
  Numbers mean = {};
  Numbers squares = {};
};
void adamw_step(Variable& variable, const Numbers& g, double t, AdamState& state, double rate,
                double decay, double beta1, double beta2, double epsilon);

}  // namespace ondine::test::optimizers
