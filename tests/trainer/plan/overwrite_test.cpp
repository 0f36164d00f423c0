// Outputs that take the memory of an input which nothing reads afterwards.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "tests/support/random_tensor.h"
#include "trainer/plan/plan.h"

using namespace ondine;           // NOLINT
using namespace ondine::graph;    // NOLINT
using namespace ondine::trainer;  // NOLINT
using ondine::test::random_floats;

namespace {

void same_type(InferContext& context) {
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    context.set_output(k, context.input(0));
  }
}

// A number, and something of the type of the input.
void number_and_same_type(InferContext& context) {
  context.set_output(0, context.dtype(0), Dims{});
  context.set_output(1, context.input(0));
}

Kernel bind_nothing(BindContext&) {
  return [](KernelContext&) {};
}

const OpDef source{.name = "Source", .infer = same_type, .bind = bind_nothing};
const OpDef reader{.name = "Reader", .infer = same_type, .bind = bind_nothing};
const OpDef second{.name = "Second",
                   .infer = number_and_same_type,
                   .bind = bind_nothing,
                   .traits = {.inplace = 1, .inplace_every_output = true}};
const OpDef first_only{.name = "FirstOnly",
                       .infer = number_and_same_type,
                       .bind = bind_nothing,
                       .traits = {.inplace = 1}};
const OpDef both{.name = "Both",
                 .infer = same_type,
                 .bind = bind_nothing,
                 .traits = {.inplace = 1, .inplace_every_output = true}};

struct Planned {
  std::size_t input, first, second;  // buffers of the node's input and outputs
};

// x -> Source -> a -> op -> (b, c), and where `read_later` Reader(a) too.
Planned plan_with(const OpDef& op, bool read_later) {
  Graph graph;
  const auto value = [&](const char* name) { return graph.add_value(name); };
  const ValueId x = value("x"), a = value("a"), b = value("b"), c = value("c"), d = value("d");
  graph.inputs = {x};
  graph.outputs = {b, c, d};
  const auto node = [&](const OpDef& of, std::vector<ValueId> outputs, ValueId input) {
    Node one;
    one.op = &of;
    one.inputs = {input};
    one.outputs = std::move(outputs);
    graph.nodes.push_back(one);
  };
  node(source, {a}, x);
  node(op, {b, c}, a);
  node(reader, {d}, read_later ? a : c);
  const Type type = Type::tensor(DType::float32, Shape{4, 8});
  const Limits limits;
  PlanOptions options;
  options.limits = &limits;
  const Plan plan = make_plan(std::make_shared<const Graph>(graph), std::span(&type, 1), options);
  verify_plan(plan);
  const auto buffer = [&](ValueId id) { return plan.buffer_of[static_cast<std::size_t>(id)]; };
  return {buffer(a), buffer(b), buffer(c)};
}

std::vector<std::byte> classifier(std::int64_t classes) {
  ModelBuilder b("classifier", 21);
  const std::string x = b.input("x", DType::float32, {"N", 8});
  const std::string y =
      b.node("MatMul", {x, b.initializer("w", random_floats({8, classes}, 1, -0.5F, 0.5F))});
  b.node("Identity", "", {y}, {"y"});
  b.output("y", DType::float32, {"N", classes});
  return b.bytes();
}

}  // namespace

TEST_CASE("a later output overwrites an input where the operator allows it for every output") {
  const Planned shared = plan_with(second, false);
  CHECK(shared.second == shared.input);
  CHECK(shared.first != shared.input);
  const Planned read = plan_with(second, true);
  CHECK(read.second != read.input);
  const Planned refused = plan_with(first_only, false);
  CHECK(refused.second != refused.input);
}

TEST_CASE("two outputs never take the memory of the same input") {
  const Planned planned = plan_with(both, false);
  CHECK(planned.first == planned.input);
  CHECK(planned.second != planned.input);
}

TEST_CASE("scores, their log probabilities and their derivative share the memory of one of them") {
  constexpr std::int64_t rows = 64;
  constexpr std::int64_t classes = 5000;
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.optimizer = Sgd{.learning_rate = 0.5F};
  Model lean = prepare(classifier(classes), options);
  Model whole = prepare(classifier(classes), options);
  Tensor labels(DType::int64, {rows});
  for (std::size_t i = 0; i < rows; ++i) {
    labels.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i * 77);
  }
  const NamedValues feeds{{"x", random_floats({rows, 8}, 2)}, {"label", labels}};
  const std::vector<std::string> loss{"loss"};
  CHECK(static_cast<double>(lean.plan(feeds, 0, loss).arena_bytes) < 1.5 * rows * classes * 4);
  // Where the scores are returned they cannot be overwritten.
  const std::vector<std::string> scores{"loss", "y"};
  for (int step = 0; step < 3; ++step) {
    const float a = lean.train_step(feeds, 0, loss)["loss"].tensor().item<float>();
    const float b = whole.train_step(feeds, 0, scores)["loss"].tensor().item<float>();
    CHECK(a == b);
  }
  CHECK(lean.get_state("w").identical(whole.get_state("w")));
}
