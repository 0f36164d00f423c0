// Values that may be bfloat16 with the same results.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/plan/lifetimes.h"
#include "trainer/plan/static_bind.h"

namespace ondine::trainer {

// Which definitions of values could round them to bfloat16 with the same results.
class RoundableDefinitions {
 public:
  // The graph must be typed and ordered. Both must outlive it.
  RoundableDefinitions(const graph::Graph& graph, const Lifetimes& lives,
                       const BindOptions& options);

  // Whether node `definition` can round the value that it computes, and every use up to the node
  // `last` rounds it anyway.
  bool contains(graph::ValueId id, std::size_t definition, std::size_t last) const;

 private:
  const graph::Graph& graph_;
  // By value: the nodes that read it or a view of it and do not round it.
  std::vector<std::vector<std::size_t>> uses_;
};

// Lets the nodes that can round what they compute do so where every reader rounds it anyway: the
// same bits in half the memory traffic. `outside` marks values that are not in the arena. The graph
// must be typed; it is ordered by this. Returns whether it changed values; it does not where the
// build lacks conversions.
bool round_results(graph::Graph& graph, std::span<const graph::ValueId> outside,
                   const BindOptions& options);

}  // namespace ondine::trainer
