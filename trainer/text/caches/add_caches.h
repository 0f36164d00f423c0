// A language model without caches as one with them.
#pragma once

#include <string>

#include "graph/contract/catalogue.h"
#include "graph/ir/document.h"
#include "trainer/text/caches/token_axes.h"

namespace ondine::text {

// The graph of one text with inputs for keys and values of earlier tokens ("past_key_values.0"),
// outputs that have those of the new tokens too ("present.0"), outputs of these alone (fresh_prefix
// in cache_ports.h), a mask [1, S] and positions [1, T]. Tables of the longest text that `lengths`
// knows replace the values that the length alone decides. `scores_name`: name of the output of
// scores.
graph::GraphDef add_caches(const graph::Graph& graph, const TextInputs& inputs,
                           graph::ValueId scores, const std::string& scores_name,
                           const CacheSites& sites, LengthValues& lengths,
                           const graph::Catalogue& catalogue);

}  // namespace ondine::text
