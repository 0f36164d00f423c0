// Which nodes of a step run in its commit section.
#include <catch2/catch.hpp>

#include "graph/contract/op_def.h"
#include "tests/trainer/plan/toy_operators.h"
#include "trainer/plan/schedule/commit.h"

using namespace ondine;           // NOLINT
using namespace ondine::test;     // NOLINT
using namespace ondine::graph;    // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

const OpDef product{.name = "Product", .infer = infer_nothing, .traits = {.cannot_fail = true}};
const OpDef sure_view{
    .name = "View", .infer = infer_nothing, .traits = {.view = true, .cannot_fail = true}};
const OpDef update{
    .name = "Update", .infer = infer_nothing, .traits = {.inplace = 1, .cannot_fail = true}};

constexpr std::int64_t mebi = 1 << 18;  // floats

// A step that makes the gradient of one weight of two factors and updates the weight.
struct Step {
  Graph graph;
  std::vector<bool> targets;
  std::vector<InPlace> pairs;

  std::int64_t rows = mebi;  // elements of each factor
  std::int64_t weights = 3 * mebi;
  const OpDef* multiply = &product;

  ValueId x = input(1);
  ValueId w = no_value;
  ValueId a = no_value;
  ValueId b = no_value;
  ValueId g = no_value;

  ValueId add(std::int64_t size, DType dtype = DType::float32) {
    targets.push_back(false);
    return graph.add_temporary("value", Type::tensor(dtype, Shape{size}));
  }
  ValueId input(std::int64_t size) {
    graph.inputs.push_back(add(size));
    return graph.inputs.back();
  }
  ValueId node(const OpDef& op, std::vector<ValueId> inputs, std::int64_t size,
               DType dtype = DType::float32) {
    Node node;
    node.op = &op;
    node.inputs = std::move(inputs);
    node.outputs = {add(size, dtype)};
    graph.nodes.push_back(node);
    return node.outputs[0];
  }
  // The next value of a weight.
  void update_by(ValueId weight, ValueId gradient, std::int64_t size) {
    const ValueId next = node(update, {weight, gradient}, size);
    targets[static_cast<std::size_t>(next)] = true;
    graph.outputs.push_back(next);
    pairs.push_back({next, weight});
  }
  // Nodes: two factors, the product and the update.
  void build() {
    w = input(weights);
    a = node(plain, {x}, rows);
    b = node(plain, {x}, rows);
    g = node(*multiply, {a, no_value, b}, weights);
    update_by(w, g, weights);
  }
  std::vector<bool> run() const { return choose_commits(graph, targets, pairs); }
};

using Flags = std::vector<bool>;

Flags choose_all(const Step& step) {
  return choose_commits(step.graph, step.targets, step.pairs, CommitScope::all);
}

}  // namespace

TEST_CASE("a gradient is made in the commit section if that saves a megabyte or more") {
  Step step;
  step.build();
  CHECK(step.run() == Flags{false, false, true, true});
  Step larger;
  larger.rows += 1;
  larger.build();
  CHECK(larger.run() == Flags{false, false, false, true});
}

TEST_CASE("factors of several gradients wait once") {
  Step step;
  step.rows = 2 * mebi;
  step.weights = 5 * mebi;
  step.build();
  const ValueId other = step.input(3 * mebi);
  const ValueId c = step.node(plain, {step.x}, 2 * mebi);
  step.update_by(other, step.node(product, {step.a, c}, 3 * mebi), 3 * mebi);
  CHECK(step.run() == Flags{false, false, true, true, false, true, true});
  // Alone it would keep as much as it saves.
  step.graph.nodes[2].op = &plain;
  CHECK(step.run() == Flags{false, false, false, true, false, false, true});
}

TEST_CASE("a gradient stays in its place that fails, is a view or has other readers") {
  for (const OpDef* op : {&plain, &sure_view}) {
    Step step;
    step.multiply = op;
    step.build();
    CHECK(step.run() == Flags{false, false, false, true});
  }
  Step returned;
  returned.build();
  returned.graph.outputs.push_back(returned.g);
  CHECK_FALSE(returned.run()[2]);
  Step read;
  read.build();
  read.graph.outputs.push_back(read.node(plain, {read.g}, 1));
  CHECK_FALSE(read.run()[2]);
  Step unread;
  unread.build();
  unread.graph.nodes[3].inputs[1] = unread.x;
  CHECK_FALSE(unread.run()[2]);
  Step several;
  several.build();
  several.update_by(several.input(3 * mebi), several.g, 3 * mebi);
  CHECK(several.run() == Flags{false, false, true, true, true});
}

TEST_CASE("a gradient stays in its place if updates may write over what it reads") {
  Step weight;
  weight.build();
  weight.graph.nodes[2].inputs[0] = weight.w;
  CHECK_FALSE(weight.run()[2]);
  Step viewed;
  viewed.build();
  viewed.graph.nodes[1].op = &sure_view;
  viewed.graph.nodes[1].inputs = {viewed.w};
  CHECK_FALSE(viewed.run()[2]);
  viewed.graph.nodes[1].inputs = {viewed.a};
  CHECK(viewed.run()[2]);
  Step target;
  target.build();
  target.targets[static_cast<std::size_t>(target.a)] = true;
  CHECK_FALSE(target.run()[2]);
}

TEST_CASE("what a call is fed with and constants wait for the commit section for nothing") {
  Step fed;
  fed.rows = 2 * mebi;
  fed.build();
  CHECK_FALSE(fed.run()[2]);
  fed.graph.nodes[2].inputs[0] = fed.x;
  CHECK(fed.run()[2]);
  fed.graph.inputs.clear();
  CHECK_FALSE(fed.run()[2]);
  fed.graph[fed.x].constant = Tensor(DType::float32, {1});
  CHECK(fed.run()[2]);
}

TEST_CASE("a sum of gradients is made in the commit section with the product it adds to") {
  Step step;
  step.multiply = &product;
  step.w = step.input(step.weights);
  step.a = step.node(plain, {step.x}, step.rows);
  step.g = step.node(product, {step.a}, step.weights);
  step.b = step.node(plain, {step.x}, step.rows);
  const ValueId sum = step.node(update, {step.g, step.b}, step.weights);
  step.update_by(step.w, sum, step.weights);
  CHECK(step.run() == Flags{false, true, false, true, true});
  // A sum that writes over none of its gradients is held beside them.
  step.graph.nodes[3].op = &product;
  CHECK(step.run() == Flags{false, false, false, false, true});
  step.graph.nodes[3].op = &update;
  step.graph.nodes[1].op = &plain;
  CHECK(step.run() == Flags{false, false, false, false, true});
}

TEST_CASE("a gradient of another dtype or of unknown size stays in its place") {
  Step half;
  half.build();
  half.graph[half.g].type.dtype = DType::bfloat16;
  CHECK_FALSE(half.run()[2]);
  Step dynamic;
  dynamic.build();
  dynamic.graph[dynamic.a].type = Type::tensor(DType::float32);
  CHECK_FALSE(dynamic.run()[2]);
}

TEST_CASE("the whole section takes what no node that can fail and no output waits for") {
  Step step;
  step.rows = 2 * mebi;  // more than the gradient takes: it would not be taken alone
  step.build();
  CHECK(step.run() == Flags{false, false, false, true});
  CHECK(choose_all(step) == Flags{false, false, true, true});
  step.graph.nodes[1].op = &product;
  CHECK(choose_all(step) == Flags{false, true, true, true});
  // A view is sure to succeed, whatever its operator promises of kernels that copy.
  step.graph.nodes[1].op = &view;
  CHECK(choose_all(step) == Flags{false, true, true, true});
  Step returned = step;
  returned.graph.outputs.push_back(returned.b);
  CHECK(choose_all(returned) == Flags{false, false, true, true});
  Step read = step;
  read.graph.outputs.push_back(read.node(plain, {read.g}, 1));
  CHECK(choose_all(read) == Flags{false, false, false, true, false});
}

TEST_CASE("an update whose inputs come early waits for the whole section if they are small") {
  Step step;
  step.build();
  step.graph.nodes[2].op = &plain;
  CHECK(choose_all(step) == Flags{false, false, false, true});
  const ValueId other = step.input(mebi);
  const ValueId next = step.node(update, {other, step.node(plain, {step.x}, mebi)}, mebi);
  step.graph.nodes.back().inputs.push_back(step.a);
  step.targets[static_cast<std::size_t>(next)] = true;
  step.graph.outputs.push_back(next);
  step.pairs.push_back({next, other});
  CHECK(choose_all(step) == Flags{false, false, false, true, false, false});
}
