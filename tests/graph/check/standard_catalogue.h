// A catalogue with every operator of the standard, for checks that only ask what there is.
#pragma once

#include <deque>
#include <vector>

#include "graph/contract/catalogue.h"
#include "graph/contract/signature.h"

namespace ondine::test {

inline const graph::Catalogue& standard_catalogue() {
  static const auto operators = [] {
    std::deque<graph::OpDef> all;
    for (const auto& row : graph::all_signatures()) {
      const bool known = !all.empty() && all.back().name == row.name;
      if (!known) all.push_back({.name = row.name, .domain = row.domain()});
    }
    return all;
  }();
  static const graph::Catalogue catalogue = [] {
    std::vector<const graph::OpDef*> list;
    for (const auto& op : operators) list.push_back(&op);
    return graph::Catalogue(list);
  }();
  return catalogue;
}

}  // namespace ondine::test
