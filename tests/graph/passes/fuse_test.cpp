// Questions that fusion passes ask of nodes and values.
#include "graph/passes/fuse.h"

#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

Node versioned(const OpDef& op, std::int64_t version, Attributes attributes = {}) {
  Node node;
  node.op = &op;
  node.version = version;
  node.attributes = std::move(attributes);
  return node;
}

const OpDef relu{.name = "Relu"};
const OpDef clip{.name = "Clip"};
const OpDef foreign_relu{.name = "Relu", .domain = "org.example"};
const OpDef transpose{.name = "Transpose"};
const OpDef gemm{.name = "Gemm"};
const OpDef normalization{.name = "BatchNormalization"};
const OpDef constant{.name = "Constant"};

bool swaps(std::vector<std::int64_t> perm, std::size_t rank) {
  const Node node = versioned(transpose, 13, {{"perm", std::move(perm)}});
  return swaps_last_two(NodeView(node), rank);
}

bool is_plain(std::int64_t version, Attributes attributes, std::vector<ValueId> inputs = {0, 1}) {
  Node node = versioned(gemm, version, std::move(attributes));
  node.inputs = std::move(inputs);
  return is_plain_gemm(NodeView(node));
}

Node with_outputs(std::int64_t version, std::vector<ValueId> outputs, Attributes attributes = {}) {
  Node node = versioned(normalization, version, std::move(attributes));
  node.outputs = std::move(outputs);
  return node;
}

}  // namespace

TEST_CASE("the number of a tensor is that of one float or double") {
  CHECK(number_of(Tensor::scalar(0.5F)) == 0.5);
  CHECK(number_of(Tensor::scalar(0.25)) == 0.25);
  CHECK(number_of(Tensor::of<float>({1, 1}, {2})) == 2.0);
  CHECK_FALSE(number_of(Tensor::of<float>({2}, {2, 2})));
  CHECK_FALSE(number_of(Tensor(DType::float32, {0})));
  CHECK_FALSE(number_of(Tensor::scalar(std::int64_t{1})));
  CHECK_FALSE(number_of(Tensor()));
}

TEST_CASE("producers are known by their first output, readers by number and by name") {
  ToyGraph toy;
  Builder& b = toy.builder;
  const Val once = b.node("Plus", {toy.x, toy.x});
  const Val twice = b.node("Minus", {once, toy.x});
  Node call;
  call.op = &toy_call;
  call.inputs = {twice.id(), no_value};
  call.references = {once.id(), no_value, twice.id()};
  call.subgraphs = {{"body", std::make_shared<Graph>(), {twice.id()}}};
  call.outputs = {no_value, toy.graph.add_temporary("second")};
  toy.graph.nodes.push_back(call);
  toy.output(twice);
  const Uses uses(toy.graph);
  CHECK(uses.readers(toy.x.id()) == 3);
  CHECK(uses.readers(once.id()) == 2);
  CHECK(uses.readers(twice.id()) == 4);
  CHECK(uses.producer(once.id(), "Plus") == toy.graph.nodes.data());
  CHECK(uses.producer(once.id(), "Minus") == nullptr);
  CHECK(uses.producer(once.id(), "Plus", "org.example") == nullptr);
  CHECK(uses.producer(toy.x.id(), "Plus") == nullptr);
  CHECK(uses.producer(no_value, "Plus") == nullptr);
  CHECK(uses.producer(call.outputs[1], "Call") == nullptr);
  CHECK(uses.sole_producer(once.id(), "Plus") == nullptr);
  // A Gradient node names the first as x, the last one is its y.
  CHECK(uses.producer_for(once.id(), 2, "Plus") == nullptr);
  CHECK(uses.producer_for(twice.id(), 4, "Minus") == &toy.graph.nodes[1]);
  CHECK(uses.producer_for(twice.id(), 3, "Minus") == nullptr);
  ToyGraph single;
  const Val sum = single.builder.node("Plus", {single.x, single.x});
  single.output(sum);
  CHECK(Uses(single.graph).sole_producer(sum.id(), "Plus") == single.graph.nodes.data());
}

TEST_CASE("constants are values of the graph or of Constant nodes") {
  ToyGraph toy;
  const Val plain = toy.floats({4});
  const auto made_by = [&](const char* name, Attributes attributes) {
    Node node = versioned(constant, 13, std::move(attributes));
    node.outputs = {toy.graph.add_temporary(name)};
    toy.graph.nodes.push_back(node);
    return node.outputs[0];
  };
  const ValueId number = made_by("number", {{"value_float", 3.0F}});
  const ValueId list = made_by("list", {{"value", Tensor::of<std::int64_t>({2}, {5, 6})}});
  Node named;
  named.op = &toy_call;
  const Val kept = toy.floats({9});
  named.references = {kept.id(), plain.id()};
  toy.graph.nodes.push_back(named);
  const Uses uses(toy.graph);
  CHECK(uses.number(plain.id()) == 4.0);
  CHECK(uses.number(number) == 3.0);
  CHECK_FALSE(uses.number(kept.id()));  // a Gradient node names it
  CHECK_FALSE(uses.number(toy.x.id()));
  CHECK_FALSE(uses.number(no_value));
  CHECK(uses.integers(list) == std::vector<std::int64_t>{5, 6});
  CHECK_FALSE(uses.integers(number));
  CHECK_FALSE(uses.integers(no_value));
  CHECK_FALSE(uses.constant(no_value).defined());
  CHECK_FALSE(uses.constant(toy.x.id()).defined());
  CHECK(constant_number(toy.graph, plain.id()) == 4.0);
  CHECK_FALSE(constant_number(toy.graph, no_value));
}

TEST_CASE("Relu and Clip with bounds that are exact in float are activations") {
  Graph graph;
  const Type type = Type::tensor(DType::float32, Shape{2});
  const ValueId x = graph.add_value("x", type);
  const auto bound = [&](const Tensor& tensor) {
    const ValueId id = graph.add_temporary("bound", Type::tensor(tensor.dtype(), tensor.shape()));
    graph[id].constant = tensor;
    return id;
  };
  const auto read = [&](const OpDef& op, std::int64_t version, std::vector<ValueId> inputs,
                        Attributes attributes = {}) {
    Node node = versioned(op, version, std::move(attributes));
    node.inputs = std::move(inputs);
    return read_activation(node, graph);
  };
  CHECK(read(relu, 14, {x})->relu);
  CHECK_FALSE(read(foreign_relu, 14, {x}));
  CHECK_FALSE(read(transpose, 14, {x}));
  const ValueId zero = bound(Tensor::scalar(0.0F));
  const ValueId six = bound(Tensor::scalar(6.0));
  const auto both = read(clip, 11, {x, zero, six});
  REQUIRE(both);
  CHECK_FALSE(both->relu);
  CHECK(both->low == 0.0F);
  CHECK(both->high == 6.0F);
  const auto upper = read(clip, 13, {x, no_value, six});
  REQUIRE(upper);
  CHECK_FALSE(upper->low);
  CHECK(upper->high == 6.0F);
  CHECK(read(clip, 13, {x}));
  CHECK_FALSE(read(clip, 13, {x, x}));
  CHECK_FALSE(read(clip, 13, {x, zero, x}));
  CHECK_FALSE(read(clip, 13, {x, bound(Tensor::scalar(0.1))}));  // no float
  const auto old = read(clip, 10, {x}, {{"min", -1.0F}, {"max", 2.0F}});
  REQUIRE(old);
  CHECK(old->low == -1.0F);
  CHECK(old->high == 2.0F);
  const auto half = read(clip, 6, {x}, {{"max", 2.0F}});
  REQUIRE(half);
  CHECK_FALSE(half->low);
}

TEST_CASE("a Transpose that swaps the last two dims keeps all others") {
  CHECK(swaps({}, 2));
  CHECK_FALSE(swaps({}, 3));
  CHECK_FALSE(swaps({}, 1));
  CHECK(swaps({1, 0}, 2));
  CHECK_FALSE(swaps({0, 1}, 2));
  CHECK(swaps({0, 2, 1}, 3));
  CHECK_FALSE(swaps({1, 0, 2}, 3));
  CHECK_FALSE(swaps({2, 1, 0}, 3));
  CHECK(swaps({0, 1, 3, 2}, 4));
  CHECK_FALSE(swaps({1, 0, 3, 2}, 4));
  CHECK_FALSE(swaps({0, 2, 1}, 4));
  CHECK_FALSE(swaps({0}, 1));
}

TEST_CASE("a plain Gemm has no factors and does not transpose its first matrix") {
  const std::vector<ValueId> with_c{0, 1, 2};
  CHECK(is_plain(7, {}));
  CHECK(is_plain(13, {{"transB", std::int64_t{1}}}, with_c));
  CHECK_FALSE(is_plain(6, {}));
  CHECK_FALSE(is_plain(13, {{"transA", std::int64_t{1}}}));
  CHECK_FALSE(is_plain(13, {{"alpha", 2.0F}}));
  CHECK_FALSE(is_plain(13, {{"beta", 2.0F}}, with_c));
  CHECK(is_plain(13, {{"beta", 2.0F}}, {0, 1, no_value}));
  CHECK(is_plain(13, {{"alpha", 1.0F}, {"beta", 1.0F}, {"transA", std::int64_t{0}}}, with_c));
}

TEST_CASE("whether a normalization trains is said by an attribute or by its outputs") {
  const auto flag = [](const char* name, std::int64_t value) { return Attributes{{name, value}}; };
  CHECK_FALSE(trains_normalization(with_outputs(14, {1})));
  CHECK_FALSE(trains_normalization(with_outputs(15, {1, 2}, flag("training_mode", 0))));
  CHECK(trains_normalization(with_outputs(14, {1}, flag("training_mode", 1))));
  CHECK(trains_normalization(with_outputs(6, {1})));
  CHECK_FALSE(trains_normalization(with_outputs(6, {1}, flag("is_test", 1))));
  CHECK_FALSE(trains_normalization(with_outputs(7, {1})));
  CHECK_FALSE(trains_normalization(with_outputs(13, {1, no_value, no_value, 4})));
  CHECK(trains_normalization(with_outputs(13, {1, 2})));
  CHECK(trains_normalization(with_outputs(7, {1, no_value, 3})));
  CHECK(normalizes_channels(with_outputs(9, {1}, flag("spatial", 0))));
  CHECK_FALSE(normalizes_channels(with_outputs(8, {1}, flag("spatial", 0))));
  CHECK(normalizes_channels(with_outputs(8, {1})));
}

TEST_CASE("tensor types are the same when every dim certainly is") {
  Graph graph;
  const auto add = [&](const Type& type) { return graph.add_temporary("v", type); };
  const Dim n = Dim::symbolic(0);
  const ValueId known = add(Type::tensor(DType::float32, Dims{2, n}));
  const auto same = [&](const Type& type) {
    const ValueId other = add(type);
    CHECK(same_tensor_type(graph, known, other) == same_tensor_type(graph, other, known));
    return same_tensor_type(graph, known, other);
  };
  CHECK(same(Type::tensor(DType::float32, Dims{2, n})));
  CHECK_FALSE(same(Type::tensor(DType::float32, Dims{2, 3})));
  CHECK_FALSE(same(Type::tensor(DType::float32, Dims{2})));
  CHECK_FALSE(same(Type::tensor(DType::float32, Dims{2, n, 1})));
  CHECK_FALSE(same(Type::tensor(DType::float64, Dims{2, n})));
  CHECK_FALSE(same(Type::tensor(DType::float32)));
  CHECK_FALSE(same(Type::sequence(Type::tensor(DType::float32, Dims{2, n}))));
  const ValueId open = add(Type::tensor(DType::float32, Dims{Dim()}));
  CHECK_FALSE(same_tensor_type(graph, open, open));
  CHECK(is_full_float(graph, known));
  CHECK(is_full_float(graph, add(Type::tensor(DType::float64))));
  CHECK_FALSE(is_full_float(graph, add(Type::tensor(DType::float16))));
  CHECK_FALSE(is_full_float(graph, add(Type::sequence(Type::tensor(DType::float32)))));
  CHECK_FALSE(is_full_float(graph, no_value));
}

TEST_CASE("values that a pass has added have no producer and no readers") {
  Graph graph;
  graph.inputs = {graph.add_value("x")};
  const Uses uses(graph);
  const ValueId added = graph.add_temporary("added");
  CHECK(uses.producer(added) == nullptr);
  CHECK(uses.readers(added) == 0);
  CHECK(uses.producer_for(added, uses.readers(added), "Relu") == nullptr);
  CHECK(uses.readers(graph.inputs[0]) == 0);
  CHECK_FALSE(uses.number(added));
}

}  // namespace ondine::test
