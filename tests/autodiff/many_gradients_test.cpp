// Cost of many Gradient nodes in one model.
#include <catch2/catch.hpp>

#include <ctime>
#include <string>
#include <vector>

#include "autodiff/expand.h"
#include "tests/autodiff/graph_writer.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

// Processor time of expanding a graph, for each Gradient in it.
template <class Write>
double seconds_each(std::size_t gradients, Write&& write) {
  GraphWriter w;
  write(w, gradients);
  const std::clock_t start = std::clock();
  const Graph expanded = autodiff::expand(std::move(w.graph), catalogue());
  const std::clock_t end = std::clock();
  CHECK(count_of(expanded, "Gradient") == 0);
  return static_cast<double>(end - start) / CLOCKS_PER_SEC / static_cast<double>(gradients);
}

// Eight times as many nodes may cost a little more each, for caches hold fewer of them. Other
// programs slow a measurement down, but hardly each of several.
template <class Write>
bool costs_the_same_each(Write&& write) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (seconds_each(4000, write) < 3 * seconds_each(500, write)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("Gradients of parts of their own cost the same in a model of eight times the size") {
  CHECK(costs_the_same_each([](GraphWriter& w, std::size_t gradients) {
    const Val x = w.input("x");
    for (std::size_t i = 0; i < gradients; ++i) {
      const Val y = unary("Sin", unary("Sin", x));
      w.gradient({x}, {x}, y);
    }
  }));
}

TEST_CASE("a Gradient by a parameter that a long trunk comes before does not visit the trunk") {
  CHECK(costs_the_same_each([](GraphWriter& w, std::size_t gradients) {
    Val trunk = w.input("x");
    for (std::size_t i = 0; i < gradients; ++i) {
      trunk = unary("Sin", trunk);
      const Val weight = w.input("w" + std::to_string(i));
      w.gradient({weight}, {weight}, trunk * weight);
    }
  }));
}

TEST_CASE("Gradients at other values cost the same in a model of eight times the size") {
  CHECK(costs_the_same_each([](GraphWriter& w, std::size_t gradients) {
    Val trunk = w.input("x");
    for (std::size_t i = 0; i < gradients; ++i) {
      const Val y = unary("Sin", trunk);
      w.gradient({w.input("at" + std::to_string(i))}, {trunk}, y);
      trunk = y;
    }
  }));
}

TEST_CASE("what a rule asks a forward node for carries derivatives of the second order") {
  // The derivative of Softplus reads x, that of Exp and Softmax y; LSTM and BatchNormalization add
  // outputs to their forward node while the first derivative is taken.
  GraphWriter w;
  const Val x = w.input("x");
  const Val y = unary("Exp", x * x);
  const Val first = w.gradient({x}, {x}, y)[0];
  const Val second = w.gradient({x}, {x}, first)[0];
  CHECK(second);
  const Graph expanded = autodiff::expand(std::move(w.graph), catalogue());
  CHECK(count_of(expanded, "Exp") == 1);
  CHECK(count_of(expanded, "ZerosLike") == 0);
}
