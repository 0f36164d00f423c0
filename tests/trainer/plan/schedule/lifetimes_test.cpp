// When values of a small graph are made and read, and where most memory is used.
#include "trainer/plan/schedule/lifetimes.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/op_def.h"
#include "tests/trainer/plan/toy_operators.h"
#include "trainer/plan/schedule/order.h"

using namespace ondine;           // NOLINT
using namespace ondine::test;     // NOLINT
using namespace ondine::graph;    // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

Node node_of(const OpDef& op, std::vector<ValueId> inputs, ValueId output) {
  Node node;
  node.op = &op;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

// x -> a (400 bytes) -> b (4000) -> v, a view of b -> c (40), which also reads a.
struct Chain {
  Graph graph;
  ValueId x = add(1);
  ValueId a = add(100);
  ValueId b = add(1000);
  ValueId v = add(1000);
  ValueId c = add(10);

  Chain() {
    graph.inputs = {x};
    graph.outputs = {c};
    graph.nodes = {node_of(plain, {x}, a), node_of(plain, {a}, b), node_of(view, {b}, v),
                   node_of(plain, {v, no_value, a}, c)};
  }
  ValueId add(std::int64_t size) {
    return graph.add_temporary("value", Type::tensor(DType::float32, Shape{size}));
  }
};

constexpr std::size_t none = Lifetimes::none;

}  // namespace

TEST_CASE("a value lives from its node to its last reader, and views read what they show") {
  const Chain chain;
  const Lifetimes lives(chain.graph, std::vector<bool>(5));
  CHECK(lives.made(chain.x) == none);
  CHECK(lives.made(chain.a) == 0);
  CHECK(lives.made(chain.b) == 1);
  CHECK(lives.made(chain.c) == 3);
  CHECK(lives.root(chain.v) == chain.b);
  CHECK(lives.root(chain.a) == chain.a);
  CHECK(lives.last_use(chain.x) == 0);
  CHECK(lives.last_use(chain.a) == 3);
  CHECK(lives.last_use(chain.b) == 3);
  CHECK(lives.last_use(chain.c) == 4);  // as an output
  CHECK(lives.next_use(chain.a, 0) == 1);
  CHECK(lives.next_use(chain.a, 1) == 3);
  CHECK(lives.next_use(chain.a, 3) == none);
  CHECK(lives.previous_use(chain.a, 1) == 0);
  CHECK(lives.previous_use(chain.a, 2) == 1);
  CHECK(lives.previous_use(chain.a, 3) == 1);
  CHECK(lives.is_used_at(chain.b, 1));
  CHECK(lives.is_used_at(chain.b, 2));
  CHECK_FALSE(lives.is_used_at(chain.a, 2));
  CHECK(lives.alive(chain.a, 3));
  CHECK_FALSE(lives.alive(chain.a, 4));
  CHECK(lives.alive(chain.x, 4));
}

TEST_CASE("the peak is the first position with the most bytes, without those outside the arena") {
  const Chain chain;
  const Lifetimes all(chain.graph, std::vector<bool>(5));
  CHECK(all.peak_position() == 3);
  CHECK(all.peak_bytes() == 400 + 4000 + 40);
  std::vector<bool> outside(5);
  outside[static_cast<std::size_t>(chain.c)] = true;
  const Lifetimes without_result(chain.graph, outside);
  CHECK(without_result.peak_position() == 1);
  CHECK(without_result.peak_bytes() == 4400);
  outside[static_cast<std::size_t>(chain.b)] = true;
  const Lifetimes small(chain.graph, outside);
  CHECK(small.peak_position() == 0);
  CHECK(small.peak_bytes() == 400);
}

TEST_CASE("bytes are those of tensors whose dims are all known") {
  const auto bytes = [](DType dtype, Dims dims) {
    return bytes_of(Type::tensor(dtype, std::move(dims)));
  };
  CHECK(bytes(DType::float32, {2, 3}) == 24);
  CHECK(bytes(DType::float64, {}) == 8);
  CHECK(bytes(DType::int8, {7}) == 7);
  CHECK(bytes(DType::float32, {2, Dim()}) == 0);
  CHECK(bytes(DType::string, {2}) == 0);
  CHECK(bytes_of(Type::tensor(DType::float32)) == 0);
  CHECK(bytes_of(Type::sequence(Type::tensor(DType::float32, Dims{2}))) == 0);
  // Up to 2^56 elements; the dims beside one of 0 count as well.
  const std::int64_t large = std::int64_t{1} << 28;
  CHECK(bytes(DType::int8, {large, large}) == std::size_t{1} << 56);
  CHECK(bytes(DType::float32, {large, 0}) == 0);
  CHECK_THROWS_AS(bytes(DType::int8, {large, large, 2}), Error);
  CHECK_THROWS_AS(bytes(DType::int8, {0, large, large, 2}), Error);
}
