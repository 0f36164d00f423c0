// Ways in which a value of a graph comes out of subgraphs and functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::test {

// Adds nodes, and functions, that make the value "p" of the value "q" of the main graph. Both are
// float [N, 3]; opset 17.
struct Wrapping {
  std::string name;
  // Whether values computed before "q" can take the place of "p" without a change of the nodes
  // inside of loops.
  bool gives_on = true;
  std::function<void(graph::ModelDef&)> add;
};

std::vector<Wrapping> wrappings();

// A function "test::Activate" around `op`, and a call of it that makes `output` of `input`.
void add_activation_function(graph::ModelDef& model, const std::string& op,
                             const std::string& input, const std::string& output);

}  // namespace ondine::test
