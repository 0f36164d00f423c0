// From a ModelDef to everything a Model runs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ondine/model.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/document.h"
#include "trainer/callable.h"

namespace ondine::trainer {

// Every operator of this build, Gradient included.
const graph::Catalogue& all_operators();

struct Algorithm {
  Callable step;
  std::vector<std::string> outputs;  // of the algorithm graph
};

struct Assembly {
  std::vector<Variable> variables;
  Callable infer;
  std::vector<Algorithm> algorithms;
  std::vector<Callable> initializations;
};

// Called with the name of each stage and the graph after it.
using StageObserver = std::function<void(std::string_view stage, const graph::Graph& graph)>;

// Checks the model, resolves its graphs, expands derivatives and optimizes. Throws one Error with
// all findings.
Assembly assemble(const graph::ModelDef& model, const LoadOptions& options,
                  const StageObserver& observe = {});

}  // namespace ondine::trainer
