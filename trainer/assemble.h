// From a ModelDef to everything a Model runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ondine/model.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/document.h"
#include "trainer/function.h"

namespace ondine::trainer {

// Every operator of this build, Gradient included.
const graph::Catalogue& all_operators();

struct Algorithm {
  Function step;
  std::vector<std::string> outputs;  // of the algorithm graph
};

struct Functions {
  std::vector<Variable> variables;
  Function infer;
  // infer with the defaults of its inputs as constants, for calls that feed none of them; nothing
  // where no input has a default. Models up to IR version 3 list every weight as such an input.
  std::optional<Function> infer_defaults;

  // The function for an inference call with these feeds.
  const Function& infer_for(std::span<const NamedValue> feeds) const;
  std::vector<Algorithm> algorithms;
  std::vector<Function> initializations;
};

// Called with the name of each stage and the graph after it.
using StageObserver = std::function<void(std::string_view stage, const graph::Graph& graph)>;

// Checks the model, resolves its graphs, expands derivatives and optimizes. Throws one Error with
// all findings.
Functions assemble(const graph::ModelDef& model, const LoadOptions& options,
                   const StageObserver& observe = {});

// What eval_step runs for an algorithm of a model that assemble() accepted; `variables` as it gave
// them.
Function assemble_evaluation(const graph::ModelDef& model, std::size_t algorithm,
                             std::vector<Variable> variables, const LoadOptions& options);

}  // namespace ondine::trainer
