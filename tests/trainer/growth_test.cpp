// Cost per node of preparing, loading and a first step does not depend on the number of nodes.
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/counted_memory.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

constexpr std::int64_t width = 4;

// A chain of cells of three nodes each, with weights of their own.
std::vector<std::byte> chain(int cells) {
  ModelBuilder builder("chain");
  std::string x = builder.input("x", DType::float32, {"N", width});
  for (int i = 0; i < cells; ++i) {
    const std::string number = std::to_string(i);
    const std::string w = builder.initializer("w" + number, random_floats({width, width}, i));
    const std::string b = builder.initializer("wb" + number, random_floats({width}, i));
    x = builder.node("MatMul", {x, w});
    x = builder.node("Add", {x, b});
    x = builder.node("Relu", {x});
  }
  builder.output(x, DType::float32, {"N", width});
  return builder.bytes();
}

// Products with bounds between them, whose results follow from what is kept anyway.
std::vector<std::byte> clipped_chain(int cells) {
  ModelBuilder builder("chain");
  builder.initializer("low", Tensor::scalar(-1.0F));
  builder.initializer("high", Tensor::scalar(1.0F));
  std::string x = builder.input("x", DType::float32, {"N", width});
  for (int i = 0; i < cells; ++i) {
    const std::string w =
        builder.initializer("w" + std::to_string(i), random_floats({width, width}, i));
    x = builder.node("Clip", {builder.node("Gemm", {x, w}), "low", "high"});
  }
  builder.output(x, DType::float32, {"N", width});
  return builder.bytes();
}

Model load(const std::vector<std::byte>& bytes, std::optional<std::uint64_t> memory_budget = {}) {
  LoadOptions options;
  options.threads = 1;
  options.memory_budget = memory_budget;
  PrepareOptions training;
  training.loss = Loss::mse;
  training.train = {"w*"};
  return prepare(bytes, training, options);
}

NamedValues feeds_of(const Model& model, std::int64_t rows) {
  NamedValues feeds;
  for (const PortInfo& input : model.algorithm(0).inputs) {
    if (!input.has_default) feeds.emplace_back(input.name, random_floats({rows, width}, 1));
  }
  return feeds;
}

void take_step(Model& model, std::int64_t rows) {
  NamedValues results{{"loss", Value()}};
  model.train_step_into(feeds_of(model, rows), 0, results);
}

struct Cost {
  double allocations = 0;
  double bytes = 0;    // that the model holds after a step
  double seconds = 0;  // of the processor
};

// Cost per cell.
Cost cost_of(int cells) {
  const std::vector<std::byte> bytes = chain(cells);
  const std::size_t before = allocations();
  const std::size_t held_before = live_bytes();
  const std::clock_t start = std::clock();
  Model model = load(bytes);
  take_step(model, 2);
  const std::clock_t end = std::clock();
  return {static_cast<double>(allocations() - before) / cells,
          static_cast<double>(live_bytes() - held_before) / cells,
          static_cast<double>(end - start) / CLOCKS_PER_SEC / cells};
}

}  // namespace

TEST_CASE("the cost of a node is the same in a model of sixteen times the size") {
  const Cost few = cost_of(250);
  const Cost many = cost_of(4000);
  CHECK(many.allocations < 1.1 * few.allocations);
  CHECK(few.allocations < 1.1 * many.allocations);
  CHECK(many.bytes < 1.1 * few.bytes);
  // Weights, definition, graph, plan and kernels of three nodes.
  CHECK(many.bytes < 14'000);
  // Whatever visits all nodes for each node would cost sixteen times as much; caches explain much
  // less. Other programs on the machine may slow a measurement down, but hardly each of several.
  bool is_linear = many.seconds < 6 * few.seconds;
  for (int attempt = 0; attempt < 4 && !is_linear; ++attempt) {
    is_linear = cost_of(4000).seconds < 6 * cost_of(250).seconds;
  }
  CHECK(is_linear);
}

// Large graphs choose several values for one analysis of lifetimes.
TEST_CASE("a chain of thousands of nodes that recomputes values gives the same bits") {
  const std::vector<std::byte> bytes = clipped_chain(2000);
  const std::int64_t rows = 1024;
  Model lean = load(bytes);
  Model ample = load(bytes, std::uint64_t{1} << 40);
  const auto planned = [&](const Model& model) {
    return model.plan(feeds_of(model, rows), 0).arena_bytes;
  };
  CHECK(planned(lean) < planned(ample));
  take_step(lean, rows);
  take_step(ample, rows);
  CHECK(lean.parameters() == ample.parameters());
}
