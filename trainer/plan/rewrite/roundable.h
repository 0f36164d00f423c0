// Values that may be bfloat16 where they are computed.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/model/rounded_weights.h"
#include "trainer/plan/place/static_bind.h"
#include "trainer/plan/schedule/lifetimes.h"

namespace ondine::trainer {

// Which definitions of values could round them to bfloat16.
class RoundableDefinitions {
 public:
  // The graph must be typed and ordered. Both must outlive it.
  RoundableDefinitions(const graph::Graph& graph, const Lifetimes& lives,
                       const BindOptions& options);

  // Whether node `definition` can round the value that it computes, and every use up to the node
  // `last` rounds it anyway: the results are the same.
  bool contains(graph::ValueId id, std::size_t definition, std::size_t last) const;
  // Whether all that reads the value rounds it.
  bool rounds_uses(graph::ValueId id) const;
  // Whether all that reads the value takes it rounded.
  bool reads_uses(graph::ValueId id) const;

 private:
  struct Use {
    std::size_t node;
    bool reads;  // bfloat16
  };

  const graph::Graph& graph_;
  BindOptions options_;
  // Uses by nodes that read the value or a view of it and do not round it, by value.
  std::vector<std::vector<Use>> uses_;
};

// Lets the nodes that can round what they compute do so where every reader rounds it anyway: the
// same bits in half the memory traffic. With `which` where_read, products, and operators that
// compute each element from rounded ones, do so where every reader takes bfloat16. `outside` marks
// values that are not in the arena. The graph must be typed; it is ordered by this. Returns whether
// it changed values; it does not where the build lacks conversions.
bool round_results(graph::Graph& graph, std::span<const graph::ValueId> outside,
                   graph::RoundedResult which, const BindOptions& options);

// Holds large constants in bfloat16 where all that reads them rounds them: with the same results.
// The graph must be typed and ordered. Returns whether it changed any.
bool round_constants(graph::Graph& graph, RoundedWeights& weights, const BindOptions& options);

}  // namespace ondine::trainer
