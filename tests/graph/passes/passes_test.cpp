#include <catch2/catch.hpp>

#include "graph/check/verify_graph.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

TEST_CASE("nodes without readers are removed, random ones too") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val used = b.node("Plus", {toy.x, toy.x});
  b.node("Noise", {b.node("Minus", {used, toy.x})});
  toy.output(b.node("Minus", {toy.x, used}));
  CHECK(toy.run(remove_dead_nodes));
  CHECK(toy.ops() == Ops{"Plus", "Minus"});
  CHECK_FALSE(toy.run(remove_dead_nodes));
}

TEST_CASE("captures that a subgraph does not read are removed with the nodes that compute them") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val needed = b.node("Plus", {toy.x, toy.x});
  const Val unneeded = b.node("Minus", {toy.x, toy.x});
  Graph body;
  body.inputs = {body.add_value("u", unneeded.type()), body.add_value("n", needed.type())};
  Builder inner(body, toy_catalogue());
  inner.node("Noise", {inner.value(body.inputs[0])});
  body.outputs = {inner.node("Identity", {inner.value(body.inputs[1])}).id()};
  Node call;
  call.op = &toy_call;
  call.subgraphs = {{"body", std::make_shared<Graph>(body), {unneeded.id(), needed.id()}}};
  call.outputs = {toy.graph.add_temporary("called")};
  b.append(call);
  toy.output(b.value(call.outputs[0]));
  CHECK(toy.run(remove_dead_nodes));
  CHECK(toy.ops() == Ops{"Plus", "Call"});
  const Subgraph& left = toy.graph.nodes[1].subgraphs[0];
  CHECK(left.captures == std::vector<ValueId>{needed.id()});
  CHECK(left.graph->inputs.size() == 1);
  CHECK(left.graph->nodes.size() == 1);
}

TEST_CASE("captures go without any node that goes, and what formal inputs bring stays") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val first = b.node("Plus", {toy.x, toy.x});
  const Val second = b.node("Minus", {toy.x, toy.x});
  toy.output(first);
  toy.output(second);
  Graph body;
  const ValueId formal = body.add_value("formal", toy.x.type());
  const ValueId unread = body.add_value("unread", first.type());
  const ValueId read = body.add_value("read", second.type());
  body.inputs = {formal, unread, read};
  body.outputs = {read};
  Node call;
  call.op = &toy_call;
  call.subgraphs = {{"body", std::make_shared<Graph>(body), {first.id(), second.id()}}};
  call.outputs = {toy.graph.add_temporary("called", toy.x.type())};
  toy.graph.nodes.push_back(call);
  toy.graph.outputs.push_back(call.outputs[0]);
  CHECK(remove_dead_nodes.run(toy.graph, {}));
  const Subgraph& left = toy.graph.nodes[2].subgraphs[0];
  CHECK(left.captures == std::vector<ValueId>{second.id()});
  CHECK(left.graph->inputs == std::vector<ValueId>{formal, read});
  CHECK_FALSE(remove_dead_nodes.run(toy.graph, {}));
}

PassContext folding(std::uint64_t bytes = 1 << 20) {
  PassContext context;
  context.fold_bytes = bytes;
  context.evaluate = [](const Node& node, const Graph& graph) {
    const auto a = graph[node.inputs[0]].constant->values<float>();
    const auto b = graph[node.inputs[1]].constant->values<float>();
    std::vector<float> sum;
    for (std::size_t i = 0; i < a.size(); ++i) sum.push_back(a[i] + b[i]);
    if (sum[0] < 0) fail(ErrorCode::mismatch, "refused");
    return std::vector{Tensor::of<float>({static_cast<std::int64_t>(sum.size())}, sum)};
  };
  return context;
}

TEST_CASE("nodes on constants are computed, through chains, within the bound") {
  const auto make = [](ToyGraph& toy, float first) {
    auto& b = toy.builder;
    const Val sum = b.node("Plus", {toy.floats({first, 2, 3}), toy.floats({10, 20, 30})});
    const Val twice = b.node("Plus", {sum, sum});
    toy.output(b.node("Plus", {toy.x, twice}));
    return twice;
  };
  ToyGraph toy;
  const Val twice = make(toy, 1);
  CHECK(toy.run(fold_constants, folding()));
  CHECK(toy.ops() == Ops{"Plus"});
  const auto values = toy.graph[twice.id()].constant->values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{22, 44, 66});

  ToyGraph bounded;
  make(bounded, 1);
  CHECK(bounded.run(fold_constants, folding(12)));
  CHECK(bounded.ops() == Ops{"Plus", "Plus"});

  ToyGraph failing;
  make(failing, -100);
  CHECK_FALSE(failing.run(fold_constants, folding()));
  ToyGraph without;
  make(without, 1);
  CHECK_FALSE(without.run(fold_constants));
}

TEST_CASE("a result of just as many bytes as may be folded is, one more is not") {
  for (const std::uint64_t most : {2, 3, 4}) {
    CAPTURE(most);
    PassContext context;
    context.fold_bytes = most;
    context.evaluate = [](const Node& node, const Graph& graph) {
      return std::vector{*graph[node.inputs[0]].constant};
    };
    ToyGraph toy;
    const Val bytes = toy.builder.constant(Tensor::of<std::uint8_t>({3}, {1, 2, 3}));
    toy.output(toy.builder.node("Plus", {bytes, bytes}));
    CHECK(toy.run(fold_constants, context) == (most >= 3));
  }
}

TEST_CASE("strings count with their contents among the bytes that may be folded") {
  const auto folds = [](std::uint64_t most, std::size_t length) {
    PassContext context;
    context.fold_bytes = most;
    context.evaluate = [=](const Node&, const Graph&) {
      return std::vector{Tensor::of<std::string>({1}, {std::string(length, 'a')})};
    };
    ToyGraph toy;
    const Val text = toy.builder.constant(Tensor::of<std::string>({1}, {"a"}));
    toy.output(toy.builder.node("Plus", {text, text}));
    return toy.run(fold_constants, context);
  };
  CHECK((folds(100, 1) && !folds(31, 1) && folds(2000, 1000) && !folds(1000, 1000)));
}

// Takes the dims that its second input holds.
const OpDef toy_reshape{.name = "Reshape",
                        .infer =
                            [](InferContext& context) {
                              context.set_output(0, context.dtype(0), context.known_dims(1));
                              context.set_output(1, DType::int64, Dims{1});
                              if (context.ranked(0))
                                context.set_known_dims(1, {context.dims(0)[0]});
                            },
                        .bind = bind_nothing};
// Gives the dims of its input as elements.
const OpDef toy_shape{.name = "Shape",
                      .infer =
                          [](InferContext& context) {
                            context.set_output(0, DType::int64, Dims{1});
                            if (context.ranked(0)) context.set_known_dims(0, {context.dims(0)[0]});
                          },
                      .bind = bind_nothing};

// Integers that nobody knows before they are computed.
const OpDef toy_integers{
    .name = "Integers",
    .infer = [](InferContext& context) { context.set_output(0, DType::int64, Dims{1}); },
    .bind = bind_nothing};

TEST_CASE("readers of folded values know more of their own results, one after the other") {
  ToyGraph toy;
  auto& b = toy.builder;
  const ValueId fed = toy.graph.add_value("fed", Type::tensor(DType::float32, Dims{Dim()}));
  toy.graph.inputs.push_back(fed);
  const auto append = [&](const OpDef& op, std::vector<ValueId> inputs,
                          const std::vector<bool>& outputs) {
    Node node;
    node.op = &op;
    node.inputs = std::move(inputs);
    for (const bool has : outputs) {
      node.outputs.push_back(has ? toy.graph.add_temporary(std::string(op.name)) : no_value);
    }
    b.append(node);
    return node.outputs;
  };
  const ValueId dims = append(toy_integers, {b.int64(0).id()}, {true})[0];
  const ValueId reshaped = append(toy_reshape, {fed, dims}, {true})[0];
  const Val next = b.node("Plus", {b.value(reshaped), b.value(reshaped)});
  const ValueId shape = append(toy_shape, {reshaped}, {true})[0];
  const ValueId again = append(toy_reshape, {fed, shape}, {true})[0];
  const ValueId first = append(toy_reshape, {next.id(), dims}, {false, true})[1];
  for (const ValueId id : {next.id(), again, first}) toy.graph.outputs.push_back(id);
  for (const ValueId id : {reshaped, next.id(), again}) toy.graph[id].type.dims = Dims{Dim()};
  PassContext context = folding();
  context.evaluate = [](const Node& node, const Graph&) {
    REQUIRE(node.op == &toy_integers);
    return std::vector{Tensor::of<std::int64_t>({1}, {3})};
  };
  CHECK(toy.run(fold_constants, context));
  const Type known = Type::tensor(DType::float32, Dims{3});
  CHECK(toy.graph[reshaped].type == known);
  CHECK(toy.graph[next.id()].type == known);
  CHECK(toy.graph[again].type == known);
  for (const ValueId id : {shape, first}) {
    REQUIRE(toy.graph[id].constant->defined());
    CHECK(toy.graph[id].constant->values<std::int64_t>()[0] == 3);
  }
  CHECK(toy.ops() == Ops{"Reshape", "Plus", "Reshape"});
}

TEST_CASE("random nodes are not folded") {
  ToyGraph toy;
  toy.output(toy.builder.node("Noise", {toy.floats({1, 2, 3})}));
  CHECK_FALSE(toy.run(fold_constants, folding()));
  CHECK(toy.ops() == Ops{"Noise"});
}

TEST_CASE("equal nodes are merged, commutative ones in either order") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val y = b.node("View", {toy.x});
  const Val p = b.node("Plus", {toy.x, y});
  const Val q = b.node("Plus", {y, toy.x});
  const Val r = b.node("Minus", {p, q});
  const Val s = b.node("Minus", {q, p});
  const Val t = b.node("Minus", {toy.x, y});
  const Val u = b.node("Minus", {y, toy.x});
  for (const Val value : {r, s, t, u}) toy.output(value);
  CHECK(toy.run(merge_common_expressions));
  // s stays because it is an output of the graph.
  CHECK(toy.ops() == Ops{"View", "Plus", "Minus", "Minus", "Minus", "Minus"});
  CHECK(toy.graph.nodes[2].inputs == std::vector<ValueId>{p.id(), p.id()});
}

TEST_CASE("equal nodes of a body are merged") {
  ToyGraph toy;
  Graph body;
  body.inputs = {body.add_value("u", toy.x.type())};
  Builder inner(body, toy_catalogue());
  const Val u = inner.value(body.inputs[0]);
  const Val first = inner.node("Plus", {u, u});
  const Val second = inner.node("Plus", {u, u});
  body.outputs = {inner.node("Minus", {first, second}).id()};
  Node call;
  call.op = &toy_call;
  call.subgraphs = {{"body", std::make_shared<Graph>(body), {toy.x.id()}}};
  call.outputs = {toy.graph.add_temporary("called")};
  toy.builder.append(call);
  toy.output(toy.builder.value(call.outputs[0]));
  CHECK(toy.run(merge_common_expressions));
  const Graph& merged = *toy.graph.nodes.at(0).subgraphs.at(0).graph;
  REQUIRE(merged.nodes.size() == 2);
  CHECK(merged.nodes[1].inputs == std::vector<ValueId>{first.id(), first.id()});
}

TEST_CASE("nodes with other attributes or random ones are not merged") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val a = b.node("View", {toy.x}, {{"k", Tensor::scalar(1.0F)}, {"l", 1.0F}});
  const Val c = b.node("View", {toy.x}, {{"l", 1.0F}, {"k", Tensor::scalar(1.0F)}});
  const Val d = b.node("View", {toy.x}, {{"k", Tensor::scalar(2.0F)}, {"l", 1.0F}});
  const Val e = b.node("Noise", {toy.x});
  const Val f = b.node("Noise", {toy.x});
  Val sum = b.node("Minus", {a, c});
  for (const Val value : {d, e, f}) sum = b.node("Minus", {sum, value});
  toy.output(sum);
  CHECK(toy.run(merge_common_expressions));
  CHECK(toy.ops() == Ops{"View", "View", "Noise", "Noise", "Minus", "Minus", "Minus", "Minus"});
}

TEST_CASE("nodes of different versions of an operator are not merged") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val one = b.node("Minus", {toy.x, toy.x});
  const Val other = b.node("Minus", {toy.x, toy.x});
  toy.graph.nodes[1].version = toy.graph.nodes[0].version + 1;
  toy.output(b.node("Plus", {one, other}));
  CHECK_FALSE(toy.run(merge_common_expressions));
  CHECK(toy.ops() == Ops{"Minus", "Minus", "Plus"});
  toy.graph.nodes[1].version = toy.graph.nodes[0].version;
  CHECK(toy.run(merge_common_expressions));
  CHECK(toy.ops() == Ops{"Minus", "Plus"});
}

TEST_CASE("constants of equal bits count as the same input") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val p = b.node("Plus", {toy.x, toy.floats({0, 1, 2})});
  const Val q = b.node("Plus", {toy.floats({0, 1, 2}), toy.x});
  const Val r = b.node("Plus", {toy.x, toy.floats({-0.0F, 1, 2})});
  toy.output(b.node("Minus", {b.node("Minus", {p, q}), r}));
  CHECK(toy.run(merge_common_expressions));
  CHECK(toy.ops() == Ops{"Plus", "Plus", "Minus", "Minus"});
}

TEST_CASE("nodes that return their input are removed") {
  ToyGraph toy;
  auto& b = toy.builder;
  const std::vector<std::int64_t> straight{0, 1};
  const std::vector<std::int64_t> crossed{1, 0};
  const Val same = b.node("View", {b.node("Identity", {toy.x})});
  const Val kept = b.node("Transpose", {same}, {{"perm", crossed}});
  const Val gone = b.node("Transpose", {kept}, {{"perm", straight}});
  const Val off = b.node("Dropout", {gone});
  const Val on = b.node("Dropout", {off, Val(), b.constant(Tensor::scalar(true))});
  const Val inference = b.node("Dropout", {on, Val(), b.constant(Tensor::scalar(false))});
  toy.output(b.node("Identity", {inference}));
  CHECK(toy.run(remove_identities));
  CHECK(toy.ops() == Ops{"Transpose", "Dropout", "Identity"});
  CHECK(toy.graph.nodes[0].inputs == std::vector<ValueId>{toy.x.id()});
  CHECK(toy.graph.nodes[2].inputs == std::vector<ValueId>{on.id()});
}

TEST_CASE("a Dropout that drops with a probability of 0 is removed") {
  for (const bool attribute : {false, true}) {
    ToyGraph toy;
    auto& b = toy.builder;
    const Val training = b.constant(Tensor::scalar(true));
    Val last = toy.x;
    for (const float ratio : {0.0F, 0.25F, 0.0F}) {
      last = attribute ? b.node("Dropout", {last}, {{"ratio", ratio}})
                       : b.node("Dropout", {last, b.constant(Tensor::scalar(ratio)), training});
      if (attribute) toy.graph.nodes.back().version = 6;
    }
    toy.output(b.node("Minus", {last, toy.x}));
    CHECK(toy.run(remove_identities));
    CHECK(toy.ops() == Ops{"Dropout", "Minus"});
    CHECK(toy.graph.nodes[0].inputs[0] == toy.x.id());
  }
}

TEST_CASE("a view with dynamic dims may not be an identity") {
  for (const bool named : {false, true}) {
    ToyGraph toy;
    const Dim open = named ? Dim::symbolic(0) : Dim();
    const auto id = toy.graph.add_value("n", Type::tensor(DType::float32, Dims{open, 2}));
    toy.graph.inputs.push_back(id);
    auto& b = toy.builder;
    toy.output(b.node("Minus", {b.node("View", {b.value(id)}), b.value(id)}));
    CHECK(toy.run(remove_identities) == named);
  }
}

TEST_CASE(
    "what is known of a removed node's result is known of its input, unless the caller feeds it") {
  ToyGraph toy;
  const Type open = Type::tensor(DType::float32, Dims{Dim(), 2});
  const Type precise = Type::tensor(DType::float32, Dims{3, Dim()});
  const auto id = toy.graph.add_value("n", open);
  toy.graph.inputs.push_back(id);
  auto& b = toy.builder;
  const Val fed = b.value(id);
  const Val sum = b.node("Plus", {fed, fed});
  const Val of_fed = b.node("Dropout", {fed});
  const Val of_sum = b.node("Dropout", {sum});
  toy.graph[of_fed.id()].type = precise;
  toy.graph[of_sum.id()].type = precise;
  toy.output(b.node("Minus", {of_sum, of_fed}));
  REQUIRE(toy.graph[sum.id()].type == open);
  CHECK(toy.run(remove_identities));
  CHECK(toy.ops() == Ops{"Plus", "Minus"});
  CHECK(toy.graph[sum.id()].type == Type::tensor(DType::float32, Dims{3, 2}));
  CHECK(toy.graph[id].type == open);
}

TEST_CASE("passes run in their order and report their changes") {
  ToyGraph toy;
  auto& b = toy.builder;
  b.node("Noise", {toy.x});
  toy.output(b.node("Plus", {b.node("Identity", {toy.x}), toy.x}));
  CHECK(run_passes(toy.graph, {}, {}).empty());
  CHECK(toy.graph.nodes.size() == 3);
  const std::vector<Pass> passes = passes_of(Phase::folding);
  const auto reports = run_passes(toy.graph, {}, passes);
  REQUIRE(reports.size() == passes.size());
  CHECK(reports[0].name == "remove_dead_nodes");
  CHECK(reports[0].changed);
  CHECK(reports[0].nodes == 2);
  CHECK(reports.back().nodes == 1);
}

TEST_CASE("a pass that breaks the graph is named") {
  ToyGraph toy;
  toy.output(toy.builder.node("Plus", {toy.x, toy.x}));
  const Pass broken{"broken", [](Graph& graph, const PassContext&) {
                      graph.nodes.clear();
                      return true;
                    }};
  try {
    run_passes(toy.graph, {}, std::span(&broken, 1));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::internal);
    CHECK_THAT(error.what(), Catch::Contains("pass broken"));
  }
}

}  // namespace
}  // namespace ondine::test
