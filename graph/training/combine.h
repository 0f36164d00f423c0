// The graph that a training step evaluates.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The main graph and the algorithm graph of training_info `index`, if it has one.
std::vector<const GraphDef*> step_parts(const ModelDef& model, std::size_t index);

// Concatenates these: inputs, initializers, nodes, outputs and value_infos.
GraphDef combine(const ModelDef& model, std::size_t index);

// Concatenates these without nodes and value_infos, which take most of the memory.
GraphDef combine_ports(const ModelDef& model, std::size_t index);

// Names of the state variables: the initializers that are keys of a binding.
std::set<std::string, std::less<>> state_variables(const ModelDef& model);

}  // namespace ondine::graph
