// Random directed graphs of differentiable operators, the same for the same seed.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/contract/subgraph_builder.h"
#include "tests/support/op_harness.h"

namespace ondine::test {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : seed_(seed) {}

  // Two to four double tensors of rank 0 to 2.
  std::vector<Value> inputs();
  // 5 to 30 steps of one or a few operators on these; a scalar that depends on the last values.
  graph::Val build(graph::Builder& builder, std::span<const graph::Val> inputs);

 private:
  using Pool = std::vector<graph::Val>;

  std::uint64_t draw(std::uint64_t below);
  graph::Val pick(const Pool& pool);
  graph::Val pick_matrix(const Pool& pool);
  // A value that broadcasts with `like`, which is picked again where there is none.
  graph::Val pick_partner(const Pool& pool, graph::Val like);

  // Each gives one new value of the pool's graph.
  graph::Val step(graph::Builder& builder, const Pool& pool, bool subgraphs);
  graph::Val elementwise(const Pool& pool);
  graph::Val binary(const Pool& pool);
  graph::Val product(const Pool& pool);
  graph::Val reduction(const Pool& pool);
  graph::Val movement(const Pool& pool);
  graph::Val join_or_cut(const Pool& pool);
  graph::Val branches(graph::Builder& builder, const Pool& pool);
  graph::Val loop(graph::Builder& builder, const Pool& pool);
  graph::Val scan(graph::Builder& builder, const Pool& pool);

  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace ondine::test
