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
#include "graph/passes/pass.h"
#include "graph/training/evaluation_model.h"
#include "trainer/model/function.h"
#include "trainer/model/rounded_weights.h"

namespace ondine::trainer {

// All operators of this build, including Gradient.
const graph::Catalogue& all_operators();

struct Algorithm {
  Function step;
  std::vector<std::string> outputs;  // of the algorithm graph
};

struct Inference {
  Function function;
  // `function` with the defaults of its inputs as constants, for calls that feed none of them;
  // nullopt where no input has a default. Models up to IR version 3 list every weight as such an
  // input.
  std::optional<Function> closed;

  // The function for these feeds.
  const Function& for_feeds(std::span<const NamedValue> feeds) const;
  // Must not be called while a call runs.
  void forget_calls() noexcept;
};

struct Functions {
  std::vector<Variable> variables;
  // In a model that trains it describes inputs and outputs, and cannot run: that takes
  // assemble_inference().
  Inference inference;
  std::vector<Algorithm> algorithms;
  std::vector<Function> initializations;
  graph::FoldedConvolutions folded;         // that its graphs share
  std::shared_ptr<RoundedWeights> rounded;  // the same; null where no product rounds
  std::vector<std::string> warnings;        // see Model::warnings()

  bool can_infer() const noexcept { return algorithms.empty(); }
};

// Called after each stage with its name and the graph.
using StageObserver = std::function<void(std::string_view stage, const graph::Graph& graph)>;

// Checks the model, resolves its graphs, expands derivatives and optimizes. Throws one Error with
// all findings. `files` hold tensors of the model.
Functions assemble(const graph::ModelDef& model, const LoadOptions& options,
                   const StageObserver& observe = {}, const RoundedWeights::Files& files = {});

// The errors of assemble() and its warnings, without making what runs.
std::vector<std::string> check_assembly(const graph::ModelDef& model, const LoadOptions& options);

// The inference functions of a model that assemble() accepted, giving `functions`; `variables` are
// those that it returned.
Inference assemble_inference(const graph::ModelDef& model, const Functions& functions,
                             std::vector<Variable> variables, const LoadOptions& options);

// As assemble, but without any optimization: nodes are those of the model and of the derivatives.
// `rewrite` sees each graph before its derivatives are appended.
Functions assemble_plain(const graph::ModelDef& model, const LoadOptions& options,
                         const std::function<void(graph::Graph&)>& rewrite);

// The function of a part of a training step, with updates by `binding`, of a model that assemble()
// accepted, giving `functions`; `variables` are those that it returned.
Function assemble_part(const graph::EvaluationModel& part, const graph::Properties& binding,
                       const Functions& functions, std::vector<Variable> variables,
                       const LoadOptions& options);

// The function of eval_step for an algorithm of a model that assemble() accepted, giving
// `functions`; `variables` are those that it returned.
Function assemble_evaluation(const graph::ModelDef& model, std::size_t algorithm,
                             const Functions& functions, std::vector<Variable> variables,
                             const LoadOptions& options);

struct Gradients {
  Function function;
  std::vector<std::string> variables;  // by default output: the state variable
};

// The function of Model::gradients; arguments as of assemble_evaluation.
Gradients assemble_gradients(const graph::ModelDef& model, std::size_t algorithm,
                             const Functions& functions, std::vector<Variable> variables,
                             const LoadOptions& options);

}  // namespace ondine::trainer
