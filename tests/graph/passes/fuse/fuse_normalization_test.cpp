// Normalizations that take in the activation and the sum after them.
#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

void infer_like(InferContext& context) {
  for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output(i, context.input(0));
}

const OpDef norm_op{.name = "BatchNormalization", .infer = infer_like};
const OpDef fused_op{
    .name = "BatchNormalizationActivation", .domain = ondine_domain, .infer = infer_like};
const OpDef relu_op{.name = "Relu", .infer = infer_like};
const OpDef clip_op{.name = "Clip", .infer = infer_like};
const OpDef hard_swish_op{.name = "HardSwish", .infer = infer_like};
const OpDef swish_op{.name = "Swish", .infer = infer_like};
const OpDef add_op{.name = "Add", .infer = infer_like};

const Catalogue& operators() {
  static const std::vector<const OpDef*> list{&norm_op, &fused_op, &relu_op,      &clip_op,
                                              &add_op,  &swish_op, &hard_swish_op};
  static const Catalogue catalogue(list);
  return catalogue;
}

struct Network {
  Graph graph;
  Builder builder{graph, operators()};
  std::vector<Val> inputs;  // x, scale, bias, mean, variance

  explicit Network(DType dtype = DType::float32) {
    for (int i = 0; i < 5; ++i) inputs.push_back(input(Type::tensor(dtype, Shape{2, 3, 4})));
  }
  Val input(const Type& type) {
    graph.inputs.push_back(graph.add_temporary("x", type));
    return builder.value(graph.inputs.back());
  }
  std::vector<Val> normalized(std::int64_t version, Attributes attributes = {},
                              std::size_t outputs = 1) {
    return builder.nodes("BatchNormalization", inputs, std::move(attributes), outputs, {}, version);
  }
  std::vector<ValueId> ids() const {
    std::vector<ValueId> result;
    for (const Val one : inputs) result.push_back(one.id());
    return result;
  }
  bool run(Val result) {
    graph.outputs.push_back(result.id());
    PassContext context;
    context.catalogue = &operators();
    return fuse_normalization.run(graph, context);
  }
  const Node& only() const {
    REQUIRE(graph.nodes.size() == 1);
    return graph.nodes[0];
  }
};

}  // namespace

TEST_CASE("a normalization takes in its Relu from version 7 on, where it is by channel") {
  struct Row {
    std::int64_t version;
    std::int64_t spatial;
    bool fused;
  };
  for (const Row& row : {Row{6, 1, false}, Row{7, 1, true}, Row{8, 0, false}, Row{8, 1, true},
                         Row{9, 0, true}, Row{15, 1, true}}) {
    CAPTURE(row.version, row.spatial);
    Network n;
    const Val y =
        n.builder.node("Relu", {n.normalized(row.version, {{"spatial", row.spatial}})[0]});
    CHECK(n.run(y) == row.fused);
    if (!row.fused) {
      CHECK(n.graph.nodes.size() == 2);
      continue;
    }
    CHECK(n.only().op == &fused_op);
    CHECK(n.only().version == 1);
    CHECK(n.only().inputs == n.ids());
    CHECK(n.only().outputs == std::vector{y.id()});
    const NodeView view(n.only());
    CHECK(view.attr_int("relu", 0) == 1);
    CHECK_FALSE((view.has_attr("low") || view.has_attr("high")));
    CHECK(view.attr_float("epsilon", 0) == 1e-5F);
    CHECK(view.attr_float("momentum", 0) == 0.9F);
    CHECK(view.attr_int("training_mode", 7) == 0);
  }
}

TEST_CASE("a normalization that takes in a Clip keeps its attributes, statistics and bounds") {
  for (const bool low : {false, true}) {
    CAPTURE(low);
    Network n;
    const auto made = n.normalized(
        14, {{"epsilon", 0.25F}, {"momentum", 0.5F}, {"training_mode", std::int64_t{1}}}, 3);
    const Val none;
    const Val bound = n.builder.constant(Tensor::scalar(6.0F));
    const Val y = n.builder.node("Clip", {made[0], low ? bound : none, low ? none : bound});
    CHECK(n.run(y));
    CHECK(n.only().outputs == std::vector{y.id(), made[1].id(), made[2].id()});
    const NodeView view(n.only());
    CHECK_FALSE(view.has_attr("relu"));
    CHECK(view.has_attr("low") == low);
    CHECK(view.has_attr("high") == !low);
    CHECK(view.attr_float(low ? "low" : "high", 0) == 6);
    CHECK(view.attr_float("epsilon", 0) == 0.25F);
    CHECK(view.attr_float("momentum", 0) == 0.5F);
    CHECK(view.attr_int("training_mode", 0) == 1);
  }
}

TEST_CASE("a normalization takes in a HardSwish or a Swish, but not after a sum") {
  for (const std::string name : {"HardSwish", "Swish"}) {
    CAPTURE(name);
    Attributes own;
    if (name == "Swish") own.emplace_back("alpha", 0.5F);
    Network n;
    const Val y = n.builder.node(name, {n.normalized(15)[0]}, own);
    CHECK(n.run(y));
    CHECK(n.only().outputs == std::vector{y.id()});
    const NodeView view(n.only());
    CHECK(view.attr_string("activation", "") == name);
    CHECK(view.attr_float("alpha", 1) == (name == "Swish" ? 0.5F : 1.0F));
    Network added;
    const Val other = added.input(Type::tensor(DType::float32, Shape{2, 3, 4}));
    const Val sum = added.builder.node("Add", {added.normalized(15)[0], other});
    CHECK_FALSE(added.run(added.builder.node(name, {sum}, own)));
  }
}

TEST_CASE("a normalization takes in a sum of the same shape, on either side") {
  for (const bool left : {false, true}) {
    CAPTURE(left);
    Network n;
    const Val other = n.input(Type::tensor(DType::float32, Shape{2, 3, 4}));
    const Val norm = n.normalized(15)[0];
    const Val y =
        n.builder.node("Relu", {n.builder.node("Add", {left ? norm : other, left ? other : norm})});
    CHECK(n.run(y));
    auto inputs = n.ids();
    inputs.push_back(other.id());
    CHECK(n.only().inputs == inputs);
    CHECK(n.only().outputs == std::vector{y.id()});
  }
  Network smaller;
  const Val row = smaller.input(Type::tensor(DType::float32, Shape{4}));
  CHECK_FALSE(smaller.run(smaller.builder.node(
      "Relu", {smaller.builder.node("Add", {smaller.normalized(15)[0], row})})));
  CHECK(smaller.graph.nodes.size() == 3);
}

TEST_CASE("a normalization stays whose result or statistics others read, or that is narrow") {
  Network shared;
  const Val norm = shared.normalized(15)[0];
  shared.graph.outputs.push_back(norm.id());
  CHECK_FALSE(shared.run(shared.builder.node("Relu", {norm})));

  Network between;
  const auto made = between.normalized(14, {{"training_mode", std::int64_t{1}}}, 3);
  between.builder.node("Relu", {made[2]});
  CHECK_FALSE(between.run(between.builder.node("Relu", {made[0]})));

  Network behind;
  const auto before = behind.normalized(14, {{"training_mode", std::int64_t{1}}}, 3);
  const Val y = behind.builder.node("Relu", {before[0]});
  behind.builder.node("Relu", {before[2]});
  CHECK(behind.run(y));
  CHECK(behind.graph.nodes.size() == 2);

  Network narrow(DType::float16);
  CHECK_FALSE(narrow.run(narrow.builder.node("Relu", {narrow.normalized(15)[0]})));
}

}  // namespace ondine::test
