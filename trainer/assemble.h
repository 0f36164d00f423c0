// Assembles the functions that a Model runs from a ModelDef.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/model.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/document.h"
#include "trainer/function.h"

namespace ondine::trainer {

// All operators of this build, including Gradient.
const graph::Catalogue& all_operators();

struct Algorithm {
  Function step;
  std::vector<std::string> outputs;  // of the algorithm graph
};

struct Functions {
  std::vector<Variable> variables;
  Function infer;
  // `infer` with the defaults of its inputs as constants, for calls that feed none of them; nullopt
  // where no input has a default. Models up to IR version 3 list every weight as such an input.
  std::optional<Function> infer_defaults;

  // The function for inference with these feeds.
  const Function& infer_for(std::span<const NamedValue> feeds) const;
  std::vector<Algorithm> algorithms;
  std::vector<Function> initializations;
  std::vector<std::string> warnings;  // see Model::warnings()
};

// Called after each stage with its name and the graph.
using StageObserver = std::function<void(std::string_view stage, const graph::Graph& graph)>;

// Checks the model, resolves its graphs, expands derivatives and optimizes. Throws one Error with
// all findings.
Functions assemble(const graph::ModelDef& model, const LoadOptions& options,
                   const StageObserver& observe = {});

// As assemble, but without any optimization: nodes are those of the model and of the derivatives.
// `rewrite` sees each graph before its derivatives are appended.
Functions assemble_plain(const graph::ModelDef& model, const LoadOptions& options,
                         const std::function<void(graph::Graph&)>& rewrite);

// The function of eval_step for an algorithm of a model that assemble() accepted; `variables` are
// those that it returned.
Function assemble_evaluation(const graph::ModelDef& model, std::size_t algorithm,
                             std::vector<Variable> variables, const LoadOptions& options);

}  // namespace ondine::trainer
