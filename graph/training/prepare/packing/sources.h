// Values from which the integers of a network follow.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/training/prepare/uses.h"

namespace ondine::graph {

class IntegerSources {
 public:
  explicit IntegerSources(const GraphDef& graph);

  // Whether a value counts the tokens of a row: it follows from shapes, constants and the input
  // "position_ids" alone, or from a running sum.
  bool counts_tokens(const std::string& value) const;
  // The input of which a value is a view; empty where it follows from other values too.
  std::string input_of(const std::string& value) const;

 private:
  struct Found {
    std::set<std::string, std::less<>> inputs;
    bool is_summed = false;
  };
  Found sources_of(const std::string& value) const;

  Producers producers_;
  std::set<std::string, std::less<>> inputs_;
};

}  // namespace ondine::graph
