// Losses that are sums over the rows of a batch.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "graph/ir/document.h"

namespace ondine::graph {

// The node by which `loss` is a sum over rows instead of a mean, as far as operators tell: looks
// through scaling, sums of terms and changes of shape. nullptr where there is none. `local`: the
// values that depend on the rows.
const NodeDef* sums_rows(const std::unordered_map<std::string, const NodeDef*>& producers,
                         const std::set<std::string, std::less<>>& local, const std::string& loss);

}  // namespace ondine::graph
