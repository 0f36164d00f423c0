// Sums of gradients over several batches, and their means.
#pragma once

#include <string>
#include <vector>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {

struct Accumulation {
  std::vector<std::string> sums;  // of each trained parameter, of the types of the updates
  std::string weight;             // that they hold: rows, int64, or labels
  // State in the main graph, where both algorithms see it.
  std::vector<InitializerDef> state;
};

// Weight of a batch in a mean over several.
struct BatchWeight {
  std::string counted;             // the value whose first dim is the number of rows
  std::string labels = {};         // or the number of labels, of rank 0
  DType dtype = DType::undefined;  // of it
};

// Adds `gradients`, of the types of the updates (updated_type) and means over what `batch` counts,
// to sums; the first batch after a mean was taken begins new ones. `bindings` receives what is
// updated.
Accumulation write_accumulation(GraphWriter& writer, const BatchWeight& batch,
                                const std::vector<std::string>& gradients,
                                const std::vector<const InitializerDef*>& trained,
                                Properties& bindings);

// The means over all of them, of the types of the updates, in another graph, which begins anew.
std::vector<std::string> write_means(GraphWriter& writer, const Accumulation& accumulation,
                                     const std::vector<const InitializerDef*>& trained,
                                     Properties& bindings);

}  // namespace ondine::graph
