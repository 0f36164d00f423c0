// Derivatives of Relu that move before those of MaxPool.
#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

const Shape whole{2, 3, 8, 8};
const Shape pooled{2, 3, 4, 4};

void infer_pooled(InferContext& context) {
  context.set_output(0, Type::tensor(DType::float32, pooled));
  context.set_output(1, Type::tensor(DType::int64, pooled));
}
void infer_whole(InferContext& context) {
  context.set_output(0, Type::tensor(DType::float32, whole));
}
void infer_sum(InferContext& context) {
  context.set_output(0, Type::tensor(DType::float32, Shape{3}));
}

const OpDef max_pool{.name = "MaxPool", .infer = infer_pooled, .bind = bind_nothing};
const OpDef pool_grad{
    .name = "MaxPoolGrad", .domain = ondine_domain, .infer = infer_whole, .bind = bind_nothing};
const OpDef relu_grad{
    .name = "ReluGrad", .domain = ondine_domain, .infer = infer_broadcast, .bind = bind_nothing};
const OpDef reduce_sum{.name = "ReduceSum", .infer = infer_sum, .bind = bind_nothing};

const Catalogue& pools() {
  static const std::vector<const OpDef*> list{&max_pool, &pool_grad, &relu_grad, &reduce_sum};
  static const Catalogue catalogue(list);
  return catalogue;
}

struct Pooling {
  Graph graph;
  Builder builder{graph, pools()};
  Val x = input(whole);
  std::vector<Val> pool = builder.nodes("MaxPool", std::vector{x}, {}, 2);
  Val dy = input(pooled);

  Val input(const Shape& shape) {
    graph.inputs.push_back(graph.add_temporary("x", Type::tensor(DType::float32, shape)));
    return builder.value(graph.inputs.back());
  }
  Val spread(const Val& indices) {
    return builder.node("MaxPoolGrad", {dy, indices, input({4})},
                        {{"storage_order", std::int64_t{0}}}, ondine_domain);
  }
  Val masked(const Val& dx, const Val& of) {
    return builder.node("ReluGrad", {dx, of}, {}, ondine_domain);
  }
  Val sum(const Val& of, std::vector<std::int64_t> axes) {
    const auto count = static_cast<std::int64_t>(axes.size());
    return builder.node("ReduceSum",
                        {of, builder.constant(Tensor::of(Shape{count}, std::move(axes)))},
                        {{"keepdims", std::int64_t{0}}});
  }
  void output(const Val& value) { graph.outputs.push_back(value.id()); }
  bool run(const Catalogue* catalogue = &pools()) {
    return fuse(graph, move_relu_gradient, catalogue);
  }
  Ops ops() const { return operators(graph); }
};

}  // namespace

TEST_CASE("the derivative of Relu moves before that of MaxPool") {
  Pooling p;
  p.output(p.masked(p.spread(p.pool[1]), p.x));
  const std::vector<ValueId> spread = p.graph.nodes[1].inputs;
  CHECK(p.run());
  REQUIRE(p.ops() == Ops{"MaxPool", "ReluGrad", "MaxPoolGrad"});
  const Node& relu = p.graph.nodes[1];
  CHECK(relu.inputs == std::vector{p.dy.id(), p.pool[0].id()});
  CHECK(p.graph.nodes[2].inputs == std::vector{relu.outputs[0], spread[1], spread[2]});
  CHECK(p.graph.nodes[2].outputs == p.graph.outputs);
  CHECK_FALSE(p.run());
}

TEST_CASE("sums over planes take what the derivative of MaxPool spreads") {
  const auto summed = [](std::vector<std::int64_t> axes) {
    Pooling p;
    const Val dx = p.masked(p.spread(p.pool[1]), p.x);
    p.output(dx);
    p.output(p.sum(dx, std::move(axes)));
    CHECK(p.run());
    REQUIRE(p.ops() == Ops{"MaxPool", "ReluGrad", "MaxPoolGrad", "ReduceSum"});
    return p.graph.nodes[3].inputs[0] == p.graph.nodes[1].outputs[0];
  };
  CHECK(summed({0, 2, 3}));
  CHECK(summed({-1, -2}));
  CHECK(summed({0, 1, 2, 3}));
  CHECK_FALSE(summed({0, 2}));
  CHECK_FALSE(summed({0, 1}));
}

TEST_CASE("derivatives of Relu stay that do not follow the MaxPool of the same values") {
  const auto stays = [](auto make) {
    Pooling p;
    make(p);
    p.output(p.pool[0]);
    const Ops before = p.ops();
    CHECK_FALSE(p.run());
    CHECK(p.ops() == before);
  };
  stays([](Pooling& p) { p.output(p.masked(p.spread(p.pool[1]), p.input(whole))); });
  stays([](Pooling& p) { p.output(p.masked(p.spread(p.input(pooled)), p.x)); });
  stays([](Pooling& p) { p.output(p.masked(p.input(whole), p.x)); });
  stays([](Pooling& p) {
    const Val spread = p.spread(p.pool[1]);
    p.output(spread);
    p.output(p.masked(spread, p.x));
  });
  stays([](Pooling& p) {
    const Val spread = p.spread(p.pool[1]);
    p.output(p.sum(spread, {0, 2, 3}));
  });
  Pooling p;
  p.output(p.masked(p.spread(p.pool[1]), p.x));
  CHECK_FALSE(p.run(nullptr));
}

}  // namespace ondine::test
